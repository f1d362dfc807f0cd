// Plans an App and its processes from a manifest application. Pure.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { typeChangeRefusal, type LifecycleInput } from "../cf/app/lifecycle.ts";
import type { Application, ProcessEntry } from "./schema.ts";

/** Process keys that are allowed at an application's top level. */
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

/** The lifecycle of an entry; undefined when the entry does not set one. */
export function lifecycleOf(app: Application): LifecycleInput | undefined {
  if (app.lifecycle === "docker" || app.docker) return { type: "docker" };
  const buildpacks = buildpacksOf(app);
  if ([app.lifecycle, buildpacks, app.stack].every((given) => given === undefined)) return undefined;
  return { type: app.lifecycle ?? "buildpack", data: omitUndefined({ buildpacks, stack: app.stack ?? undefined }) };
}

/** Why an entry cannot be applied to an app with this lifecycle; undefined when it can. */
export function lifecycleMismatch(entry: Application, current: LifecycleInput["type"]): string | undefined {
  const wanted = lifecycleOf(entry)?.type ?? current;
  if (wanted === current) return undefined;
  if (current === "docker" && (entry.buildpacks ?? entry.buildpack))
    return `${entry.buildpacks ? "Buildpacks" : "Buildpack"} cannot be configured for a docker lifecycle app.`;
  if (current === "buildpack" && entry.docker) return "Docker cannot be configured for a buildpack lifecycle app.";
  return typeChangeRefusal(current, wanted);
}

/** `buildpack: default`, null and an empty list all mean detection. */
function buildpacksOf({ buildpacks, buildpack }: Application): string[] | undefined {
  if (buildpacks) return buildpacks;
  if (buildpack === undefined) return undefined;
  return buildpack === null || buildpack === "default" || buildpack === "null" ? [] : [buildpack];
}

/** Every process of an entry; the app's top-level process keys configure the web process, unless `processes` lists it. */
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

/** The spec part of a merge patch with only the fields that a process entry sets. `current` is the type of the current health check. */
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
