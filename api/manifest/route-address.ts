// The address of a route in a manifest: parsed, split into host and existing domain, or chosen as a default or random route. Pure.

/** A route as a manifest writes it. */
export interface Address {
  hostname: string;
  path: string;
  port: number;
}

/** Parses `https://host.domain:1024/path`; all but the hostname is optional. */
export function parseRoute(text: string): Address | undefined {
  const [, hostname, port, path = ""] = /^(?:[a-z]+:\/\/)?([^/:?#\s]+)(?::(\d{1,5}))?(\/[^?#\s]*)?$/i.exec(text) ?? [];
  return hostname === undefined ? undefined : { hostname, path: path === "/" ? "" : path, port: Number(port ?? 0) };
}

/** Splits a hostname by the existing domains: first the whole hostname as a domain, then the part after its first label. The host keeps its case; the domain is lowercase. */
export function splitHost(
  hostname: string,
  isDomain: (name: string) => boolean,
): { host: string; domain: string } | undefined {
  const whole = hostname.toLowerCase();
  if (!hostname.startsWith("*") && isDomain(whole)) return { host: "", domain: whole };
  const dot = hostname.indexOf(".");
  const domain = hostname.slice(dot + 1).toLowerCase();
  return dot > 0 && isDomain(domain) ? { host: hostname.slice(0, dot), domain } : undefined;
}

/** The host of an app's default route: the app's name in its own case, if it makes a valid host. */
export function defaultHost(name: string): string | undefined {
  const host = name.replaceAll("_", "-").replaceAll(" ", "-");
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i.test(host) ? host : undefined;
}

const ADJECTIVES = [
  "brave",
  "bright",
  "calm",
  "clever",
  "eager",
  "fair",
  "fond",
  "gentle",
  "glad",
  "happy",
  "keen",
  "kind",
  "lively",
  "merry",
  "proud",
  "quick",
  "quiet",
  "shiny",
  "smart",
  "wise",
];
const NOUNS = [
  "badger",
  "bear",
  "crane",
  "deer",
  "eagle",
  "falcon",
  "fox",
  "hare",
  "heron",
  "lynx",
  "otter",
  "owl",
  "panda",
  "raven",
  "robin",
  "seal",
  "swan",
  "tiger",
  "whale",
  "wolf",
];

/** A host that is probably free: `<app>-<adjective>-<noun>-<two letters>`. `random` returns 0 ≤ x < 1. */
export function randomHost(name: string, random: () => number): string {
  const one = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? "";
  const base = (defaultHost(name) ?? "app").slice(0, 40).replace(/-+$/, "");
  const suffix = Math.floor(random() * 36 ** 2)
    .toString(36)
    .padStart(2, "0");
  return `${base}-${one(ADJECTIVES)}-${one(NOUNS)}-${suffix}`;
}
