// The certificates of a webhook, as they are kept in one Secret: an authority of its own, what it signed, and when which of them is made anew.
// A new authority is trusted first and signs later, and the old one stays trusted until its end: nobody is ever served with what is not trusted yet.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { issueCertificate, makeAuthority, type KeyPair } from "../server/pki.ts";

/** Lifetimes in milliseconds. Each is renewed when a third of it is left. */
export interface CertificateLifetimes {
  authorityMs: number;
  /** Less than a third of `authorityMs`, so that no certificate outlives the authority behind it. */
  servingMs: number;
  /** A new authority is trusted for so long before it signs: the time in which API servers learn of it. */
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
  /** Trusted already, signs soon. */
  next?: KeyPair | undefined;
  /** Still trusted. */
  previous?: { cert: string } | undefined;
}

export type RotationStep = "create" | "prepare" | "promote" | "renew" | "forget";

export interface RotationContext {
  now: Date;
  /** Names and addresses that the certificate must be good for. */
  hosts: readonly string[];
  /** What API servers trust now, PEM. */
  trustedBundle: string;
  lifetimes: CertificateLifetimes;
}

/** The one next thing to do; without one, when to look again. */
export function planRotation(
  held: WebhookCertificates | undefined,
  { now, hosts, trustedBundle, lifetimes }: RotationContext,
): { step: RotationStep } | { step: undefined; waitMs: number } {
  if (!held || expiryOf(held.authority) <= now.getTime()) return { step: "create" };
  const renewal = renewalTimeOf(held.serving, lifetimes.servingMs);
  // What a new authority waits for besides time is the word that it is trusted, which comes as a change of the configuration.
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

/** What is to be held after that step. `name` is for the certificates' subjects. */
export async function applyRotationStep(
  step: RotationStep,
  held: WebhookCertificates | undefined,
  { now, hosts, lifetimes }: RotationContext,
  name: string,
): Promise<WebhookCertificates> {
  // Each authority is called otherwise, so that a verifier that knows several finds the one that signed.
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
  // Other replicas may be reached under other names.
  const all = [...new Set([...hostsOf(held.serving), ...hosts])];
  const wanted = all.length > MAX_HOSTS ? hosts : all;
  if (step === "prepare") return { ...held, next: await authority() };
  if (step === "forget") return { ...held, previous: undefined };
  if (step === "promote" && held.next)
    return { authority: held.next, serving: await serve(held.next, wanted), previous: { cert: held.authority.cert } };
  return { ...held, serving: await serve(held.authority, wanted) };
}

const MAX_HOSTS = 32;

/** Every authority that is to be trusted, PEM. */
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

/** undefined when something is missing or unreadable: then all is made anew. */
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
    return false; // not PEM: the same as not there
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
