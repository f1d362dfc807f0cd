// Presents a Process and its instances as CF's JSON.
import { App } from "../../crds/app/app.ts";
import type { HealthCheck } from "../../crds/health-check.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { firstIndexes } from "../../crds/lrp/index-pool.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import { findMergedLRP, type RunningInstance, type RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { defaultInstances, effectiveHealthCheck, effectiveReadinessCheck } from "../../crds/process/defaults.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Space } from "../../crds/space/space.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";
import { processGUID } from "../cf/process/processes.ts";
import { isRolloutProcess } from "../cf/process/web-processes.ts";
import { releaseOf } from "../cf/rollout/app-revisions.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

export const HIDDEN = "[PRIVATE DATA HIDDEN]";
export const HIDDEN_IN_LISTS = "[PRIVATE DATA HIDDEN IN LISTS]";

/** How much of a process a reply shows; start commands may hold secrets. */
export type CommandView = "shown" | "hidden" | "list";

/** Desired number of instances. */
export function wantedInstances(process: Process): number {
  return process.spec.instances ?? defaultInstances(process.spec.type);
}

export function presentProcess(cache: ClusterCache, process: Process, base: string, show: CommandView): object {
  const app = appOf(cache, process);
  const guid = processGUID(cache, process);
  const appGUID = app ? cache.guid(App, app) : "";
  const space = cache.spaceOf(process.metadata.namespace);
  const { spec } = process;
  const self = `${base}/v3/processes/${guid}`;
  return {
    ...presentIdentity(cache, Process, process),
    guid,
    version: deriveGUID("version", guid, String(process.metadata.generation ?? 0)),
    type: spec.type,
    command: commandOf(cache, process, app, show),
    user: spec.user ?? "vcap",
    instances: wantedInstances(process),
    memory_in_mb: spec.memoryMB,
    disk_in_mb: spec.diskMB,
    log_rate_limit_in_bytes_per_second: spec.logRateLimitBytesPerSecond,
    health_check: presentCheck(effectiveHealthCheck(spec.type, spec.healthCheck), true),
    readiness_health_check: presentCheck(effectiveReadinessCheck(spec.readinessHealthCheck), false),
    relationships: { app: toOneRelationship(appGUID), revision: revisionOf(cache, app, process) },
    ...presentMetadata(process),
    links: {
      self: link(self),
      scale: link(`${self}/actions/scale`, "POST"),
      app: link(`${base}/v3/apps/${appGUID}`),
      space: link(`${base}/v3/spaces/${space ? cache.guid(Space, space) : ""}`),
      stats: link(`${self}/stats`),
      process_instances: link(`${self}/process_instances`),
    },
  };
}

/** Everything besides the process that its presentation in a list depends on. */
export function processTextKey(cache: ClusterCache, process: Process, base: string): CacheKey {
  const app = appOf(cache, process);
  const space = cache.spaceOf(process.metadata.namespace);
  return [
    base,
    processGUID(cache, process),
    app && cache.guid(App, app),
    space && cache.guid(Space, space),
    revisionGUIDOf(cache, app, process),
  ];
}

function commandOf(cache: ClusterCache, process: Process, app: App | undefined, show: CommandView): string | null {
  if (show !== "shown") return show === "list" ? HIDDEN_IN_LISTS : HIDDEN;
  const detected = (app && currentDroplet(cache, app)?.spec.processTypes) ?? {};
  return (
    process.spec.command ??
    (Object.hasOwn(detected, process.spec.type) ? detected[process.spec.type] : undefined) ??
    null
  );
}

function revisionOf(cache: ClusterCache, app: App | undefined, process: Process): object | null {
  const guid = revisionGUIDOf(cache, app, process);
  return guid === undefined ? null : toOneRelationship(guid);
}

function revisionGUIDOf(cache: ClusterCache, app: App | undefined, process: Process): string | undefined {
  const name = isRolloutProcess(process) ? process.status?.revision : app?.status?.revision;
  const release = app && releaseOf(cache, app, name);
  return release && cache.guid(Revision, release);
}

function presentCheck(check: HealthCheck, withTimeout: boolean): object {
  return {
    type: check.type,
    data: {
      ...(withTimeout && { timeout: check.timeoutSeconds ?? null }),
      invocation_timeout: check.invocationTimeoutSeconds ?? null,
      interval: check.intervalSeconds ?? null,
      ...(check.type === "http" && { endpoint: check.endpoint ?? "/" }),
    },
  };
}

/** Start commands may hold secrets. */
export function commandView(session: Session, process: Process): CommandView {
  const shown = session.allows({
    ...APP_SECRETS,
    namespace: process.metadata.namespace ?? "",
    name: process.spec.appRef.name,
  });
  return shown ? "shown" : "hidden";
}

const STATES = { Starting: "STARTING", Running: "RUNNING", Crashed: "CRASHED", Down: "DOWN" } as const;

/** The LRP that runs a process now, on all its clusters. */
export function lrpOf(cache: ClusterCache, process: Process): RunningLRP | undefined {
  const namespace = process.metadata.namespace ?? "";
  const name = process.status?.lrp;
  if (!name) return undefined;
  const decision = cache.store(PlacementDecision).find({ namespace, name: process.metadata.name });
  return decision ? findMergedLRP(decision, name) : cache.store(LRP).find({ namespace, name });
}

/** The LRP of the app's current revision; undefined while a restart is pending, so that a waiting client does not mistake the old version for the new one. */
function answering(cache: ClusterCache, app: App, lrp: RunningLRP | undefined): RunningLRP | undefined {
  if (app.spec.restart !== undefined && app.spec.restart !== app.status?.observedRestart) return undefined;
  const revision =
    app.status?.revision &&
    cache.store(Revision).find({ namespace: app.metadata.namespace ?? "", name: app.status.revision });
  return revision && lrp?.spec.revision === String(revision.spec.version) ? lrp : undefined;
}

/** Ready reasons of an app whose start goes on, or whose former instances have failed: they do not stop a new start. */
const NO_START_PROBLEMS: ReadonlySet<string> = new Set(["Starting", "Stopping", "Staging", "Crashed", "Down"]);

/** Why a started app gets no revision to run, or none for its restart, once its controller has observed its spec. */
function startProblemOf(app: App): string | undefined {
  const { spec, status } = app;
  const isRestart = status?.revision !== undefined;
  if (isRestart && spec.restart === status.observedRestart) return undefined;
  const problem = findCurrentProblem(app);
  return isRestart && NO_START_PROBLEMS.has(problem?.reason ?? "") ? undefined : problem?.message.slice(0, 1024);
}

function findCurrentProblem({ metadata, status }: App): { reason: string; message: string } | undefined {
  return status?.conditions?.find(
    (one) =>
      one.type === "Ready" &&
      one.status === "False" &&
      one.observedGeneration === metadata.generation &&
      // The start goes on.
      one.reason !== "Releasing",
  );
}

type PresentedInstance = Pick<LrpInstance, "index"> & Partial<RunningInstance> & { cfState: string };

/** People decide what runs of a detached process, whatever the app's state and revision. */
export function instancesOf(cache: ClusterCache, process: Process): PresentedInstance[] {
  const own = lrpOf(cache, process);
  const reported = process.spec.detached ? own?.status?.instances : undefined;
  return reported ? reported.map(toPresented) : desiredInstancesOf(cache, process, own);
}

/** An entry per desired instance. Unreported ones are STARTING during a start, else DOWN; all instances of a stopped app are DOWN. */
function desiredInstancesOf(cache: ClusterCache, process: Process, own: RunningLRP | undefined): PresentedInstance[] {
  const app = appOf(cache, process);
  const lrp =
    app?.spec.state === "Started" ? (isRolloutProcess(process) ? own : answering(cache, app, own)) : undefined;
  const known = new Map((lrp?.status?.instances ?? []).map((instance) => [instance.index, instance]));
  const unreported = isRolloutProcess(process) ? { cfState: "STARTING" } : presentUnreported(app, lrp);
  // While a Rollout goes from cluster to cluster a version has the indexes of some clusters.
  return firstIndexes(wantedInstances(process), lrp?.spec.indexes).map((index) => {
    const instance = known.get(index);
    return instance ? toPresented(instance) : { index, ...unreported };
  });
}

function toPresented(instance: RunningInstance): PresentedInstance {
  return { ...instance, cfState: STATES[instance.state] };
}

/** An instance that no runner reports: STARTING until the runner first reports instances. */
function presentUnreported(app: App | undefined, lrp: RunningLRP | undefined): { cfState: string; details?: string } {
  if (app?.spec.state !== "Started" || lrp?.status?.instances !== undefined) return { cfState: "DOWN" };
  const details = startProblemOf(app);
  if (details === undefined) return { cfState: "STARTING" };
  // cf waits for instances that are DOWN, and gives up on those that are CRASHED.
  return { cfState: findCurrentProblem(app)?.reason === "ReleaseFailed" ? "CRASHED" : "DOWN", details };
}

/** Whether the app is starting and no instance has run or crashed yet. */
export function isStarting(cache: ClusterCache, process: Process): boolean {
  const states = instancesOf(cache, process).map(({ cfState }) => cfState);
  return states.includes("STARTING") && states.every((state) => state === "STARTING" || state === "DOWN");
}
