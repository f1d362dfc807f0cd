// Client certificates: the user that the server's authority vouches for.
import { X509Certificate } from "node:crypto";
// Before toLegacyObject: otherwise Node 26 leaves tls without createSecureContext for the life of the process.
import "node:tls";
import { LRUCache } from "lru-cache";
import type { UserInfo } from "../types.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";
const anyUse = "2.5.29.37.0";

interface Known {
  user: UserInfo;
  from: number;
  to: number;
}

/** Reads certificates (DER) into users: the common name is the user's, organizations are groups. Throws when the authority did not sign it, or it does not count now. */
export function certificateReader(authorityPem: string, now: () => number): (der: Uint8Array) => UserInfo {
  const authority = new X509Certificate(authorityPem);
  const known = new LRUCache<string, Known>({ max: 1000 });
  return (der) => {
    const certificate = new X509Certificate(der);
    const id = certificate.fingerprint512;
    const entry = known.get(id) ?? read(certificate, authority);
    known.set(id, entry);
    if (now() < entry.from || now() > entry.to) throw new Error("x509: certificate has expired or is not yet valid");
    return entry.user;
  };
}

function read(certificate: X509Certificate, authority: X509Certificate): Known {
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey))
    throw new Error("x509: certificate signed by unknown authority");
  const uses = certificate.keyUsage;
  if (uses && !uses.includes(clientAuth) && !uses.includes(anyUse))
    throw new Error("x509: certificate specifies an incompatible key usage");
  const subject = certificate.toLegacyObject().subject as { CN?: string | string[]; O?: string | string[] };
  const name = [subject.CN ?? ""].flat()[0] ?? "";
  if (name === "") throw new Error("x509: certificate has no common name");
  return {
    user: { name, groups: [subject.O ?? []].flat() },
    from: Date.parse(certificate.validFrom),
    to: Date.parse(certificate.validTo),
  };
}
