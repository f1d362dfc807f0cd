// Judges a whole manifest before anything is written: every key and value that is wrong, each with its place and, for a mistyped key, the one that was meant. Pure.

import { editDistance } from "./edit-distance.ts";

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === "string" && value !== "" ? undefined : "must be text");
/** As in CF, a number may be quoted: a variable's value often is. */
const whole = (value: unknown): number =>
  typeof value === "string" && /^[+-]?\d{1,12}$/.test(value)
    ? Number(value)
    : Number.isInteger(value)
      ? (value as number)
      : NaN;
const count: Check = (value) => (whole(value) >= 0 ? undefined : "must be a whole number, 0 or more");
const seconds: Check = (value) => (whole(value) > 0 ? undefined : "must be a whole number of seconds");
const truth: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const size: Check = (value) =>
  typeof value === "string" && /^(-?\d+(\.\d+)?([KMGT](I?B)?|B)?)?$/i.test(value)
    ? undefined
    : "must be a size such as 256M or 1G";
const map: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "must have keys and values";
const list: Check = (value) => (Array.isArray(value) ? undefined : "must be a list");
const texts: Check = (value) =>
  Array.isArray(value) && value.every((one) => text(one) === undefined) ? undefined : "must be a list of names";
const any: Check = () => undefined;
const docker: Check = (value) => {
  const { image = "-" } = (value ?? {}) as Record<string, unknown>;
  return map(value) ?? (text(image) === undefined ? undefined : "must have an image that is text");
};
const oneOf =
  (...values: string[]): Check =>
  (value) =>
    typeof value === "string" && values.includes(value) ? undefined : `must be one of ${values.join(", ")}`;
/** A line without a value. */
const orNothing =
  (check: Check): Check =>
  (value) =>
    value === null ? undefined : check(value);

const PROCESS_KEYS: Readonly<Record<string, Check>> = {
  command: orNothing(text),
  disk_quota: orNothing(size),
  "disk-quota": orNothing(size),
  instances: orNothing(count),
  memory: orNothing(size),
  "log-rate-limit-per-second": orNothing((value) => (value === -1 || value === 0 ? undefined : size(value))),
  timeout: orNothing(seconds),
  user: orNothing(text),
  "health-check-type": oneOf("port", "http", "process", "none"),
  "health-check-http-endpoint": orNothing(text),
  "health-check-interval": orNothing(seconds),
  "health-check-invocation-timeout": orNothing(seconds),
  "readiness-health-check-type": oneOf("port", "http", "process"),
  "readiness-health-check-http-endpoint": orNothing(text),
  "readiness-health-check-interval": orNothing(seconds),
  "readiness-health-check-invocation-timeout": orNothing(seconds),
};

const APPLICATION_KEYS: Readonly<Record<string, Check>> = {
  ...PROCESS_KEYS,
  name: text,
  path: text,
  buildpack: orNothing(text),
  buildpacks: orNothing(texts),
  "cnb-credentials": map,
  "default-route": orNothing(truth),
  docker: orNothing(docker),
  env: orNothing(map),
  features: map,
  lifecycle: orNothing(oneOf("buildpack", "cnb", "docker")),
  metadata: orNothing(map),
  "no-route": orNothing(truth),
  processes: list,
  "random-route": orNothing(truth),
  routes: list,
  services: list,
  sidecars: list,
  stack: orNothing(text),
};

const ROUTE_KEYS: Readonly<Record<string, Check>> = {
  route: text,
  protocol: oneOf("http1", "http2", "tcp"),
  options: any,
};

/** Sentences, one for each fault; none when all is well. */
export function findManifestFaults(document: unknown): string[] {
  const applications = (document as { applications?: unknown } | null)?.applications;
  if (!Array.isArray(applications) || applications.length === 0)
    return ["applications: must be a list of at least one application"];
  return [
    ...applications.flatMap((entry, at) => faultsOfApplication(entry, at)),
    ...duplicateNames(applications).map((name) => `two applications are called ${name}`),
  ];
}

function faultsOfApplication(entry: unknown, at: number): string[] {
  if (map(entry) !== undefined) return [`application ${at + 1}: ${map(entry)}`];
  const app = entry as Record<string, unknown>;
  const where = typeof app["name"] === "string" ? app["name"] : `application ${at + 1}`;
  return [
    ...faultsOf(app, APPLICATION_KEYS, where),
    ...entriesOf(app["processes"]).flatMap((one, index) =>
      faultsOf(one, { ...PROCESS_KEYS, type: text }, `${where}, process ${nameOf(one["type"], index)}`),
    ),
    ...entriesOf(app["routes"]).flatMap((one, index) => faultsOf(one, ROUTE_KEYS, `${where}, route ${index + 1}`)),
  ];
}

function faultsOf(entry: Record<string, unknown>, keys: Readonly<Record<string, Check>>, where: string): string[] {
  return Object.entries(entry).flatMap(([key, value]) => {
    const check = keys[key];
    if (check === undefined) return [`${where}: there is no key ${key}${suggest(key, Object.keys(keys))}`];
    const fault = check(value);
    return fault === undefined ? [] : [`${where}: ${key} ${fault}, not ${shorten(value)}`];
  });
}

function entriesOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) return [];
  return value.map((one) => (map(one) === undefined ? (one as Record<string, unknown>) : { [String(one)]: null }));
}

function nameOf(type: unknown, index: number): string {
  return typeof type === "string" ? type : String(index + 1);
}

function duplicateNames(applications: readonly unknown[]): string[] {
  const names = applications.flatMap((entry) => {
    const name = (entry as { name?: unknown } | null)?.name;
    return typeof name === "string" ? [name] : [];
  });
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

const LONGEST_SHOWN = 40;

function shorten(value: unknown): string {
  const written = JSON.stringify(value) ?? "nothing";
  return written.length > LONGEST_SHOWN ? `${written.slice(0, LONGEST_SHOWN)}…` : written;
}

/** `; did you mean memory?`, when a known key is near. */
function suggest(key: string, known: readonly string[]): string {
  const plain = (one: string): string => one.toLowerCase().replaceAll(/[_-]/g, "");
  const scored = known.map((one) => ({ one, steps: editDistance(plain(key), plain(one)) }));
  const [best] = scored.sort((a, b) => a.steps - b.steps);
  return best && best.steps <= Math.max(1, key.length / 3) ? `; did you mean ${best.one}?` : "";
}
