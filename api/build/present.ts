// Presents a Build as CF's JSON.
import { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import { presentLifecycle } from "../cf/app/lifecycle.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const STATES = { Staging: "STAGING", Staged: "STAGED", Failed: "FAILED" } as const;

/** The CF state. A build is STAGED only once the cache has its droplet. */
export function buildState(cache: ClusterCache, build: Build, now = Date.now()): (typeof STATES)[keyof typeof STATES] {
  const state = STATES[build.status?.state ?? "Staging"];
  return state === "STAGED" && isJustFinished(build, now) && !dropletOf(cache, build) ? "STAGING" : state;
}

const DROPLET_CACHE_LAG_MS = 10_000;

/** The droplet cache may lag behind the build cache. If the droplet is still missing after that, it was deleted, and the build is STAGED all the same. */
function isJustFinished(build: Build, now: number): boolean {
  const ready = build.status?.conditions?.find((condition) => condition.type === "Ready");
  return ready !== undefined && now < Date.parse(ready.lastTransitionTime) + DROPLET_CACHE_LAG_MS;
}

export function presentBuild(cache: ClusterCache, build: Build, base: string): object {
  const at = presentIdentity(cache, Build, build);
  const app = appGUIDOf(cache, build);
  const droplet = dropletOf(cache, build);
  const dropletGUID = droplet && cache.guid(Droplet, droplet);
  const { spec } = build;
  return {
    ...at,
    state: buildState(cache, build),
    staging_memory_in_mb: spec.memoryMB,
    staging_disk_in_mb: spec.diskMB,
    staging_log_rate_limit_bytes_per_second: -1,
    error: errorOf(build),
    lifecycle: presentLifecycle(cache, spec.lifecycle ?? appOf(cache, build)?.spec.lifecycle ?? { type: "buildpack" }),
    package: { guid: packageGUID(cache, build) },
    droplet: dropletGUID ? { guid: dropletGUID } : null,
    created_by: createdBy(build),
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(build),
    links: {
      self: link(`${base}/v3/builds/${at.guid}`),
      app: link(`${base}/v3/apps/${app}`),
      ...(dropletGUID && { droplet: link(`${base}/v3/droplets/${dropletGUID}`) }),
    },
  };
}

function errorOf({ status }: Build): string | null {
  return status?.error ? `${status.error.code} - ${status.error.message}` : null;
}

/** Kubernetes knows no addresses but those that are names. cf-java-client takes no null. */
function createdBy({ spec }: Build): object {
  const { guid = null, name = null } = spec.createdBy ?? {};
  return { guid, name, email: name?.includes("@") ? name : "" };
}

function dropletOf(cache: ClusterCache, build: Build): Droplet | undefined {
  const name = build.status?.droplet;
  return name ? cache.store(Droplet).find({ namespace: build.metadata.namespace ?? "", name }) : undefined;
}

function packageGUID(cache: ClusterCache, build: Build): string {
  const found = cache
    .store(Package)
    .find({ namespace: build.metadata.namespace ?? "", name: build.spec.packageRef.name });
  return found ? cache.guid(Package, found) : "";
}
