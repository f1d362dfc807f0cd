// The server's own authority, its TLS certificate and client certificates. Made once, kept in the state folder, renewed before they end.
import "reflect-metadata";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 30 * DAY_MS;

export interface KeyPair {
  /** PEM. */
  cert: string;
  /** PEM, PKCS#8. */
  key: string;
}

export interface Authority extends KeyPair {
  /** A client certificate for a user (common name) in groups (organizations). */
  issueClient(user: string, groups: string[]): Promise<KeyPair>;
}

x509.cryptoProvider.set(webcrypto as Crypto);

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(pem), ALGORITHM, true, ["sign"]);
}

const serial = () => Buffer.from(webcrypto.getRandomValues(new Uint8Array(16))).toString("hex").replace(/^./, "1");
const validity = (days: number) => ({ notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + days * DAY_MS) });

function load(dir: string, name: string): KeyPair | undefined {
  const [certFile, keyFile] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
  if (!existsSync(certFile) || !existsSync(keyFile)) return undefined;
  const pair = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  return new x509.X509Certificate(pair.cert).notAfter.getTime() - Date.now() > RENEW_BEFORE_MS ? pair : undefined;
}

function save(dir: string, name: string, pair: KeyPair): KeyPair {
  writeFileSync(join(dir, `${name}.key`), pair.key, { mode: 0o600 });
  writeFileSync(join(dir, `${name}.crt`), pair.cert, { mode: 0o644 });
  return pair;
}

async function makeAuthority(): Promise<KeyPair> {
  const keys = await newKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(), name: "CN=kubernetes-ca", ...validity(3_650), keys, signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${cert.toString("pem")}\n`, key: await keyPem(keys.privateKey) };
}

interface Leaf {
  subject: x509.JsonName;
  usage: x509.ExtendedKeyUsage;
  names: string[];
}

async function issue(authority: KeyPair, { subject, usage, names }: Leaf): Promise<KeyPair> {
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.cert);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(), subject: new x509.Name(subject).toString(), issuer: issuer.subject, ...validity(825), publicKey: keys.publicKey, signingKey: await importKey(authority.key), signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names.map((name) => ({ type: isIP(name) ? ("ip" as const) : ("dns" as const), value: name })))] : []),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { cert: `${cert.toString("pem")}\n`, key: await keyPem(keys.privateKey) };
}

/** The authority and the server's certificate from `dir`, made where missing. @param names host names and addresses of the server. */
export async function openCertificates(dir: string, names: string[]): Promise<{ authority: Authority; server: KeyPair }> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const kept = load(dir, "ca");
  const ca = kept ?? save(dir, "ca", await makeAuthority());
  const usable = kept && load(dir, "server");
  const known = usable ? new x509.X509Certificate(usable.cert).getExtension(x509.SubjectAlternativeNameExtension)?.names.items.map((item) => item.value) ?? [] : [];
  const server = usable && names.every((name) => known.includes(name)) ? usable
    : save(dir, "server", await issue(ca, { subject: [{ CN: ["kube-apiserver"] }], usage: x509.ExtendedKeyUsage.serverAuth, names }));
  return {
    authority: { ...ca, issueClient: (user, groups) => issue(ca, { subject: [...groups.map((group) => ({ O: [group] })), { CN: [user] }], usage: x509.ExtendedKeyUsage.clientAuth, names: [] }) },
    server,
  };
}
