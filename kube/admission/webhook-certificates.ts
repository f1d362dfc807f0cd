// Certificates of a webhook, stored in one Secret: an authority, its serving certificate, and their rotation.
// A new authority is trusted before it signs, and the old one until it expires, so that clients always trust the serving certificate.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { issueCertificate, makeAuthority, type KeyPair } from "../server/pki.ts";

/** Lifetimes in milliseconds. A certificate is renewed when a third of its lifetime is left. */
export interface CertificateLifetimes {
  authorityMs: number;
  /** Less than a third of `authorityMs`, so that no certificate outlives the authority behind it. */
  servingMs: number;
  /** How long a new authority is trusted before it signs, so that API servers can load it. */
  trustDelayMs: number;
}

const DAY = 86_400_000;
export const DEFAULT_CERTIFICATE_LIFETIMES: CertificateLifetimes = {
  authorityMs: 365 * DAY,
  servingMs: 90 * DAY,
  trustDelayMs: 600_000,
};

export interface WebhookCertificates {
  authority: KeyPair;
  serving: KeyPair;
  /** Trusted; signs after trustDelayMs. */
  next?: KeyPair | undefined;
  /** Still trusted. */
  previous?: { cert: string } | undefined;
}

export type RotationStep = "create" | "prepare" | "promote" | "renew" | "forget";

export interface RotationContext {
  now: Date;
  /** Names and addresses of the certificate. */
  hosts: readonly string[];
  /** The configured caBundle, PEM. */
  trustedBundle: string;
  lifetimes: CertificateLifetimes;
}

/** The next due step, or the time until one is due. */
export function planRotation(
  held: WebhookCertificates | undefined,
  { now, hosts, trustedBundle, lifetimes }: RotationContext,
): { step: RotationStep } | { step: undefined; waitMs: number } {
  if (!held || expiryOf(held.authority) <= now.getTime()) return { step: "create" };
  const renewal = renewalTimeOf(held.serving, lifetimes.servingMs);
  // A new authority also waits until the configuration trusts it, which arrives as an event.
  const promotion = held.next
    ? Math.max(
        issuedAt(held.next, lifetimes.authorityMs) + lifetimes.trustDelayMs,
        trustedBundle.includes(held.next.cert.trim()) ? 0 : Infinity,
      )
    : Infinity;
  const preparation = held.next ? Infinity : renewalTimeOf(held.authority, lifetimes.authorityMs);
  const removal = held.previous ? expiryOf(held.previous) : Infinity;
  const times: [RotationStep, number][] = [
    ["promote", promotion],
    ["renew", missingHosts(held, hosts).length > 0 ? 0 : renewal],
    ["prepare", preparation],
    ["forget", removal],
  ];
  const due = times.find(([, at]) => at <= now.getTime());
  return due ? { step: due[0] } : { step: undefined, waitMs: Math.min(...times.map(([, at]) => at)) - now.getTime() };
}

/** The certificates after the step. `name` is the certificates' subject. */
export async function applyRotationStep(
  step: RotationStep,
  held: WebhookCertificates | undefined,
  { now, hosts, lifetimes }: RotationContext,
  name: string,
): Promise<WebhookCertificates> {
  // Authorities need different names, so that a verifier finds the one that signed.
  const authority = (): Promise<KeyPair> =>
    makeAuthority(`${name} ${now.toISOString()}`, { from: now, days: lifetimes.authorityMs / DAY });
  const serve = async (by: KeyPair, wanted: readonly string[]): Promise<KeyPair> =>
    issueCertificate(
      by,
      { commonName: name, ...alternatives(wanted) },
      { usage: "server", from: now, days: Math.min(lifetimes.servingMs, expiryOf(by) - now.getTime()) / DAY },
    );
  if (!held || step === "create") {
    const made = await authority();
    return { authority: made, serving: await serve(made, hosts) };
  }
  // Keep hosts of other replicas.
  const all = [...new Set([...hostsOf(held.serving), ...hosts])];
  const wanted = all.length > MAX_HOSTS ? hosts : all;
  if (step === "prepare") return { ...held, next: await authority() };
  if (step === "forget") return { ...held, previous: undefined };
  if (step === "promote" && held.next)
    return { authority: held.next, serving: await serve(held.next, wanted), previous: { cert: held.authority.cert } };
  return { ...held, serving: await serve(held.authority, wanted) };
}

const MAX_HOSTS = 32;

/** All trusted authorities, PEM. */
export function caBundleOf({ authority, next, previous }: WebhookCertificates): string {
  return [authority, next, previous].flatMap((one) => (one ? [one.cert] : [])).join("");
}

const KEYS = {
  authority: ["ca.crt", "ca.key"],
  serving: ["tls.crt", "tls.key"],
  next: ["next-ca.crt", "next-ca.key"],
} as const;
const PREVIOUS = "previous-ca.crt";

/** `data` of the Secret. */
export function toSecretData({ previous, ...pairs }: WebhookCertificates): Record<string, string> {
  const texts = Object.entries(KEYS).flatMap(([which, [cert, key]]) => {
    const pair = pairs[which as keyof typeof KEYS];
    return pair
      ? [
          [cert, pair.cert],
          [key, pair.key],
        ]
      : [];
  });
  return Object.fromEntries(
    [...texts, ...(previous ? [[PREVIOUS, previous.cert]] : [])].map(([name, text]) => [
      name,
      Buffer.from(text ?? "").toString("base64"),
    ]),
  );
}

/** Undefined when a part is missing or unreadable; then all certificates are created again. */
export function parseSecretData(data: Readonly<Record<string, string>> = {}): WebhookCertificates | undefined {
  const text = (name: string): string => Buffer.from(data[name] ?? "", "base64").toString("utf8");
  const pair = ([cert, key]: readonly [string, string]): KeyPair => ({ cert: text(cert), key: text(key) });
  const [authority, serving, next, previous] = [
    pair(KEYS.authority),
    pair(KEYS.serving),
    pair(KEYS.next),
    text(PREVIOUS),
  ];
  if (!isPair(authority) || !isPair(serving)) return undefined;
  return {
    authority,
    serving,
    ...(isPair(next) && { next }),
    ...(isCertificate(previous) && { previous: { cert: previous } }),
  };
}

function isPair({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // not PEM: treat as missing
  }
}

function isCertificate(text: string): boolean {
  try {
    return text !== "" && new X509Certificate(text).ca;
  } catch {
    return false; // as above
  }
}

function expiryOf({ cert }: { cert: string }): number {
  return new X509Certificate(cert).validToDate.getTime();
}

function issuedAt(pair: KeyPair, lifetimeMs: number): number {
  return expiryOf(pair) - lifetimeMs;
}

function renewalTimeOf(pair: KeyPair, lifetimeMs: number): number {
  return expiryOf(pair) - lifetimeMs / 3;
}

function missingHosts(held: WebhookCertificates, hosts: readonly string[]): string[] {
  const cert = new X509Certificate(held.serving.cert);
  return hosts.filter((host) => !(isIP(host) ? cert.checkIP(host) : cert.checkHost(host, { subject: "never" })));
}

const ADDRESS = /^IP Address:(.*)$/;

function hostsOf({ cert }: KeyPair): string[] {
  const names = new X509Certificate(cert).subjectAltName?.split(", ") ?? [];
  return names.map((name) => ADDRESS.exec(name)?.[1]?.toLowerCase() ?? name.replace(/^DNS:/, ""));
}

function alternatives(hosts: readonly string[]): { dnsNames: string[]; ipAddresses: string[] } {
  return { dnsNames: hosts.filter((host) => !isIP(host)), ipAddresses: hosts.filter((host) => isIP(host)) };
}
