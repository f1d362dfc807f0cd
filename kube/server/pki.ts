// A certificate authority for servers and clients of a Kubernetes API. No files, no sockets.
// The x509 library is loaded when the first certificate is made: its 200 modules cost a start 70 ms, and most starts make none.
import { generateKeyPairSync, randomBytes, webcrypto } from "node:crypto";
import type * as X509 from "@peculiar/x509";

/** A certificate and its private key, both PEM. The key is PKCS#8, which Go and Node read. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** The subject of a certificate. Kubernetes reads a client's user name from `commonName` and its groups from `organizations`. */
export interface Subject {
  commonName: string;
  organizations?: string[];
  /** Names and addresses of a server. */
  dnsNames?: string[];
  ipAddresses?: string[];
}

/** Validity: `days` from `from`, minus five minutes for clock skew. */
export interface Validity {
  from?: Date;
  days?: number;
}

/** Allowed usage; both by default. */
export interface IssueOptions extends Validity {
  usage?: "server" | "client";
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;
const clockSkewMs = 300_000;

/** Creates a self-signed authority (EC P-256), valid for ten years by default. */
export async function makeAuthority(commonName: string, validity: Validity = {}): Promise<KeyPair> {
  const x509 = await loadX509();
  const keys = await makeKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: nameOf({ commonName }),
    ...validityPeriod({ days: 3650, ...validity }),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: cert.toString("pem") + "\n", key: await privatePem(x509, keys.privateKey) };
}

/** Issues a certificate signed by `authority`, valid for a year by default. */
export async function issueCertificate(
  authority: KeyPair,
  subject: Subject,
  { usage, ...validity }: IssueOptions = {},
): Promise<KeyPair> {
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await importPrivate(x509, authority.key);
  const keys = await makeKeys();
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    issuer: issuer.subjectName,
    subject: nameOf(subject),
    ...validityPeriod({ days: 365, ...validity }),
    signingAlgorithm: algorithm,
    signingKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usagesOf(x509, usage)),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...alternativeNames(x509, subject),
    ],
  });
  return { cert: cert.toString("pem") + "\n", key: await privatePem(x509, keys.privateKey) };
}

async function loadX509(): Promise<typeof X509> {
  await import("reflect-metadata"); // the library needs it to load
  return await import("@peculiar/x509");
}

function usagesOf(x509: typeof X509, usage: IssueOptions["usage"]): X509.ExtendedKeyUsage[] {
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  if (usage === undefined) return [serverAuth, clientAuth];
  return usage === "server" ? [serverAuth] : [clientAuth];
}

/** Creates a P-256 key pair for signing tokens (ES256), both PEM. */
export function makeSigningKeys(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

async function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function privatePem(x509: typeof X509, key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY") + "\n";
}

async function importPrivate(x509: typeof X509, pem: string): Promise<webcrypto.CryptoKey> {
  return await webcrypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(pem), algorithm, false, ["sign"]);
}

function serial(): string {
  // RFC 5280 requires a positive number, so clear the first bit. Set the second, so that the encoding keeps its length.
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString("hex");
}

function nameOf(subject: Subject): X509.JsonName {
  // An RDN per organization: Go reads each as a group.
  return [...(subject.organizations ?? []).map((o) => ({ O: [o] })), { CN: [subject.commonName] }];
}

function validityPeriod(validity: Validity): { notBefore: Date; notAfter: Date } {
  const from = (validity.from ?? new Date()).getTime();
  return { notBefore: new Date(from - clockSkewMs), notAfter: new Date(from + (validity.days ?? 365) * dayMs) };
}

function alternativeNames(x509: typeof X509, subject: Subject): X509.Extension[] {
  const names: X509.JsonGeneralNames = [
    ...(subject.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(subject.ipAddresses ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  return names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [];
}
