// The authorities that a broker's own certificate may come from: PEM certificates. Pure.
import { X509Certificate } from "node:crypto";

/** Characters of a bundle. */
export const MAX_CA_BUNDLE = 65_536;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Why it is no bundle; undefined for one. */
export function findBundleProblem(text: string): string | undefined {
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) return "it has no certificate in PEM";
  const at = found.findIndex((pem) => !isCertificate(pem));
  return at === -1 ? undefined : `its certificate ${at + 1} cannot be read`;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // OpenSSL's words tell people nothing
  }
}
