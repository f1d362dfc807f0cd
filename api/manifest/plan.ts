// What an application of a manifest means for its App and its processes. Pure.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { LifecycleInput } from "../cf/lifecycle.ts";
import type { Application, ProcessEntry } from "./schema.ts";

/** Process keys that an application may have itself. */
export const LOCAL_KEYS = [
  "command",
  "instances",
  "memory",
  "disk-quota",
  "log-rate-limit-per-second",
  "health-check-type",
  "health-check-http-endpoint",
  "health-check-invocation-timeout",
  "health-check-interval",
  "timeout",
  "readiness-health-check-type",
  "readiness-health-check-http-endpoint",
  "readiness-health-check-invocation-timeout",
  "readiness-health-check-interval",
] as const;

/** The lifecycle that an entry asks for; undefined when it says nothing about it. */
export function lifecycleOf(app: Application): LifecycleInput | undefined {
  if (app.lifecycle === "docker" || app.docker) return { type: "docker" };
  const buildpacks = buildpacksOf(app);
  if ([app.lifecycle, buildpacks, app.stack].every((given) => given === undefined)) return undefined;
  return { type: app.lifecycle ?? "buildpack", data: omitUndefined({ buildpacks, stack: app.stack ?? undefined }) };
}

/** Why an entry cannot be applied to an app of this lifecycle; undefined when it can. */
export function lifecycleMismatch(entry: Application, current: LifecycleInput["type"]): string | undefined {
  const wanted = lifecycleOf(entry)?.type ?? current;
  if (wanted === current) return undefined;
  if (current === "docker" && (entry.buildpacks ?? entry.buildpack))
    return `${entry.buildpacks ? "Buildpacks" : "Buildpack"} cannot be configured for a docker lifecycle app.`;
  if (current === "buildpack" && entry.docker) return "Docker cannot be configured for a buildpack lifecycle app.";
  return "Lifecycle type cannot be changed";
}

/** `buildpack: default` (or null) asks for detection, as does an empty list. */
function buildpacksOf({ buildpacks, buildpack }: Application): string[] | undefined {
  if (buildpacks) return buildpacks;
  if (buildpack === undefined) return undefined;
  return buildpack === null || buildpack === "default" || buildpack === "null" ? [] : [buildpack];
}

/** Every process that an entry speaks of; process keys of the app itself are the web process's, unless it has an entry of its own. */
export function processesOf(app: Application): ProcessEntry[] {
  const listed = app.processes ?? [];
  const own = LOCAL_KEYS.some((key) => app[key] !== undefined);
  return own && !listed.some((process) => process.type === "web") ? [{ ...pick(app), type: "web" }, ...listed] : listed;
}

function pick(app: Application): Omit<ProcessEntry, "type"> {
  return Object.fromEntries(LOCAL_KEYS.filter((key) => app[key] !== undefined).map((key) => [key, app[key]])) as Omit<
    ProcessEntry,
    "type"
  >;
}

/** The spec part of a merge patch for a process entry; only what it names. `current` is the type of the check in force. */
export function processSpec(
  entry: ProcessEntry,
  current: { check: string; readiness: string },
): Record<string, unknown> {
  const healthCheck = check(entry, "", current.check);
  const readinessHealthCheck = check(entry, "readiness-", current.readiness);
  return omitUndefined({
    command: entry.command,
    user: entry.user,
    instances: entry.instances,
    memoryMB: entry.memory,
    diskMB: entry["disk-quota"],
    logRateLimitBytesPerSecond: entry["log-rate-limit-per-second"],
    healthCheck,
    readinessHealthCheck,
  });
}

function check(
  entry: ProcessEntry,
  prefix: "" | "readiness-",
  currentType: string,
): Record<string, unknown> | undefined {
  const given: Record<string, unknown> = omitUndefined({
    type: entry[`${prefix}health-check-type`],
    endpoint: entry[`${prefix}health-check-http-endpoint`],
    invocationTimeoutSeconds: entry[`${prefix}health-check-invocation-timeout`],
    intervalSeconds: entry[`${prefix}health-check-interval`],
    timeoutSeconds: prefix === "" ? entry.timeout : undefined,
  });
  if (Object.keys(given).length === 0) return undefined;
  const type = given["type"] ?? (given["endpoint"] ? "http" : currentType);
  return { ...given, type, ...(type !== "http" && { endpoint: null }) };
}

/** A route as a manifest writes it. */
export interface Address {
  hostname: string;
  path: string;
  port: number;
}

/** `https://host.domain:1024/path` and less. */
export function parseRoute(text: string): Address | undefined {
  const [, hostname, port, path = ""] = /^(?:[a-z]+:\/\/)?([^/:?#\s]+)(?::(\d{1,5}))?(\/[^?#\s]*)?$/i.exec(text) ?? [];
  return hostname === undefined
    ? undefined
    : { hostname: hostname.toLowerCase(), path: path === "/" ? "" : path, port: Number(port ?? 0) };
}

/** Splits a hostname by the domains there are: the whole of it as a domain first, then what follows its first label. */
export function splitHost(
  hostname: string,
  isDomain: (name: string) => boolean,
): { host: string; domain: string } | undefined {
  if (!hostname.startsWith("*") && isDomain(hostname)) return { host: "", domain: hostname };
  const dot = hostname.indexOf(".");
  const domain = hostname.slice(dot + 1);
  return dot > 0 && isDomain(domain) ? { host: hostname.slice(0, dot), domain } : undefined;
}

/** The host of an app's default route: its name, where that is one. */
export function defaultHost(name: string): string | undefined {
  const host = name.toLowerCase().replaceAll("_", "-").replaceAll(" ", "-");
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(host) ? host : undefined;
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

/** A host that is probably free: `<app>-<adjective>-<noun>-<two letters>`. `random` gives 0 ≤ x < 1. */
export function randomHost(name: string, random: () => number): string {
  const one = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? "";
  const base = (defaultHost(name) ?? "app").slice(0, 40).replace(/-+$/, "");
  const suffix = Math.floor(random() * 36 ** 2)
    .toString(36)
    .padStart(2, "0");
  return `${base}-${one(ADJECTIVES)}-${one(NOUNS)}-${suffix}`;
}
