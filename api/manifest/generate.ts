// Generates the manifest of an app: `GET /v3/apps/:guid/manifest`.
import { stringify } from "yaml";
import type { App } from "../../crds/app/app.ts";
import type { HealthCheck } from "../../crds/health-check.ts";
import { featureSwitches } from "../cf/app/app-features.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Sidecar } from "../../crds/sidecar.ts";
import type { Process } from "../../crds/process/process.ts";
import { defaultInstances, effectiveHealthCheck, effectiveReadinessCheck } from "../../crds/process/defaults.ts";

export interface ManifestInput {
  app: App;
  processes: readonly Process[];
  sidecars: readonly Sidecar[];
  variables: Readonly<Record<string, string>>;
  routes: readonly { url: string; protocol: string; options?: Record<string, unknown> | undefined }[];
  /** Names of the bound service instances. */
  services: readonly string[];
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  image: string | undefined;
  /** The user at the image's registry. */
  username?: string | undefined;
  stack: string | null;
}

/** The manifest entry of one app. Empty keys are omitted. */
export function toApplication({
  app,
  processes,
  sidecars,
  variables,
  routes,
  services,
  metadata,
  image,
  username,
  stack,
}: ManifestInput): Record<string, unknown> {
  const { lifecycle } = app.spec;
  return compact({
    name: displayNameOf(app),
    lifecycle: lifecycle.type,
    ...(lifecycle.type === "docker"
      ? { docker: image && compact({ image, username }) }
      : { buildpacks: lifecycle.buildpacks, stack: lifecycle.stack ?? stack }),
    env: variables,
    features: featureSwitches(app),
    routes: [...routes]
      .sort((one, other) => (one.url.toLowerCase() < other.url.toLowerCase() ? -1 : 1))
      .map(({ url, protocol, options }) => compact({ route: url, protocol, options })),
    services: [...services],
    metadata: compact(metadata),
    processes: [...processes].sort((one, other) => (one.spec.type < other.spec.type ? -1 : 1)).map(toProcess),
    sidecars: sidecars.map(toSidecar),
  });
}

function toSidecar({ name, processTypes, command, memoryMB }: Sidecar): Record<string, unknown> {
  return compact({ name, process_types: [...processTypes], command, memory: memoryMB && `${memoryMB}M` });
}

function toProcess({ spec }: Process): Record<string, unknown> {
  return compact({
    type: spec.type,
    instances: spec.instances ?? defaultInstances(spec.type),
    memory: `${spec.memoryMB}M`,
    disk_quota: `${spec.diskMB}M`,
    "log-rate-limit-per-second":
      spec.logRateLimitBytesPerSecond === -1 ? -1 : perSecond(spec.logRateLimitBytesPerSecond),
    command: spec.command,
    user: spec.user,
    ...checkKeys(effectiveHealthCheck(spec.type, spec.healthCheck), ""),
    ...checkKeys(effectiveReadinessCheck(spec.readinessHealthCheck), "readiness-"),
    timeout: spec.healthCheck?.timeoutSeconds,
  });
}

function checkKeys(check: HealthCheck, prefix: string): Record<string, unknown> {
  return {
    [`${prefix}health-check-type`]: check.type,
    [`${prefix}health-check-http-endpoint`]: check.type === "http" ? (check.endpoint ?? "/") : undefined,
    [`${prefix}health-check-invocation-timeout`]: check.invocationTimeoutSeconds,
    [`${prefix}health-check-interval`]: check.intervalSeconds,
  };
}

function perSecond(bytes: number): string {
  if (bytes % (1024 * 1024) === 0 && bytes > 0) return `${bytes / (1024 * 1024)}M`;
  return bytes % 1024 === 0 && bytes > 0 ? `${bytes / 1024}K` : `${bytes}B`;
}

function compact(fields: Record<string, unknown>): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

/** The YAML document, beginning with `---` as in CF. */
export function toYaml(application: Record<string, unknown>): string {
  return `---\n${stringify({ applications: [application] })}`;
}
