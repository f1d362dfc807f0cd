// The server's own authority, its TLS certificate and client certificates. Made once, kept in the state folder, renewed before they end.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { issueCertificate, makeAuthority, type KeyPair } from "../../kube/server/pki.ts";

const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 30 * DAY_MS;
const LEAF_DAYS = 825;

export interface Authority extends KeyPair {
  /** A client certificate for a user (common name) in groups (organizations). */
  issueClient(user: string, groups: string[]): Promise<KeyPair>;
}

/** A pair from the folder; undefined when there is none, when it expires soon, or when certificate and key do not match because a kill fell between their writes. */
function load(dir: string, name: string): KeyPair | undefined {
  const [certFile, keyFile] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
  if (!existsSync(certFile) || !existsSync(keyFile)) return undefined;
  const pair = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  const certificate = parsePem(certFile, () => new X509Certificate(pair.cert));
  const isGood =
    certificate.checkPrivateKey(parsePem(keyFile, () => createPrivateKey(pair.key))) &&
    Date.parse(certificate.validTo) - Date.now() > RENEW_BEFORE_MS;
  return isGood ? pair : undefined;
}

/** @throws Error that names the file and the next step, without the file's content */
export function parsePem<T>(file: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(`${file} is damaged. Remove it and start again: a new one is made`, { cause });
  }
}

function save(dir: string, name: string, pair: KeyPair): KeyPair {
  writeFileSync(join(dir, `${name}.key`), pair.key, { mode: 0o600 });
  writeFileSync(join(dir, `${name}.crt`), pair.cert, { mode: 0o644 });
  return pair;
}

/** Is the server's certificate good for all of these names and addresses? */
function covers({ cert }: KeyPair, names: readonly string[]): boolean {
  const certificate = new X509Certificate(cert);
  return names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined);
}

function issueServer(ca: KeyPair, names: readonly string[]): Promise<KeyPair> {
  const subject = {
    commonName: "kube-apiserver",
    dnsNames: names.filter((name) => !isIP(name)),
    ipAddresses: names.filter((name) => isIP(name)),
  };
  return issueCertificate(ca, subject, { usage: "server", days: LEAF_DAYS });
}

/** The authority and the server's certificate from `dir`, made where missing. @param names host names and addresses of the server. */
export async function openCertificates(
  dir: string,
  names: readonly string[],
): Promise<{ authority: Authority; server: KeyPair }> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const kept = load(dir, "ca");
  const ca = kept ?? save(dir, "ca", await makeAuthority("kubernetes-ca"));
  // A new authority did not sign the old certificate.
  const usable = kept && load(dir, "server");
  const server = usable && covers(usable, names) ? usable : save(dir, "server", await issueServer(ca, names));
  const issueClient = (user: string, groups: string[]): Promise<KeyPair> =>
    issueCertificate(ca, { commonName: user, organizations: groups }, { usage: "client", days: LEAF_DAYS });
  return { authority: { ...ca, issueClient }, server };
}
