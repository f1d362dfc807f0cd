// Snapshots of an app: the input of its instances, and when a new one is due. Pure.
import { cutDetails } from "../../crds/details.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { isDeepStrictEqual } from "node:util";
import type { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { findPatch } from "../../crds/adjustment/of-process.ts";
import type { App } from "../../crds/app/app.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import { effectiveHealthCheck, effectivePorts, effectiveReadinessCheck } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import { mergeSidecars, type Sidecar } from "../../crds/sidecar.ts";
import type { Revision, RevisionProcess } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { findRevision } from "../shared/rollouts.ts";
import type { ServicesSnapshot } from "../shared/services-snapshot.ts";
import { requireMounts } from "../shared/require-mounts.ts";
import { chooseClass } from "../shared/choose-class.ts";

export type RevisionSpec = Revision["spec"];
/** The fields that revisions are compared by: without version, description and restart. */
type RevisionContent = Pick<
  RevisionSpec,
  "dropletRef" | "env" | "services" | "serviceFiles" | "volumes" | "processes" | "sidecars"
>;

/** The Revision that the app's status names. */
export function findCurrentRevision(app: App, revisions: readonly Revision[]): Revision | undefined {
  return app.status?.revision === undefined
    ? undefined
    : revisions.find((revision) => revision.metadata.name === app.status?.revision);
}

/** Whether a snapshot is due: at a start without a current Revision, and at a restart without its own. */
export function isSnapshotDue(app: App, revisions: readonly Revision[]): boolean {
  if (app.spec.state === "Stopped") return false;
  return findCurrentRevision(app, revisions) === undefined || isRestartRequested(app);
}

function isRestartRequested(app: App): boolean {
  return app.spec.restart !== undefined && app.spec.restart !== app.status?.observedRestart;
}

export interface SnapshotInput {
  app: App;
  droplet: Droplet;
  processes: readonly Process[];
  env: readonly EnvVar[];
  services: ServicesSnapshot;
  classes: readonly BackendClass[];
  /** Those of the app's namespace. */
  adjustments: readonly Adjustment[];
  revisions: readonly Revision[];
  /** The Rollout that this snapshot is for. */
  rollout?: Rollout | undefined;
}

/** The result of a due snapshot: an existing Revision with the same content, or the spec of the next one. */
export type Snapshot = { reuse: Revision } | { next: RevisionSpec };

export function planSnapshot(input: SnapshotInput): Snapshot {
  const { app, revisions, rollout } = input;
  const newestFirst = revisions.toSorted((a, b) => b.spec.version - a.spec.version);
  const content = toRolloutContent(toContent(input), input);
  const latest = newestFirst[0];
  if (latest && !rollout && hasSameContent(latest.spec, content) && isReusable(latest, input)) return { reuse: latest };
  return {
    next: {
      appRef: { name: app.metadata.name },
      version: (latest?.spec.version ?? 0) + 1,
      ...planRelease(input, newestFirst, content),
      ...(app.spec.restart !== undefined && { restart: app.spec.restart }),
      ...(rollout && { rollout: rollout.metadata.name }),
      ...content,
    },
  };
}

/** A restart of a running app always gets a new version. A start reuses an equal one, and so does the retry of an interrupted reconcile. */
function isReusable(latest: Revision, { app, processes }: SnapshotInput): boolean {
  const isStart = app.status?.revision === undefined && !processes.some((process) => isRunning(process, latest));
  return isStart || latest.spec.restart === app.spec.restart;
}

/** After a stop this is a process whose controller has not acted on it. With the same version it would never see that there was a stop. */
function isRunning({ status }: Process, { metadata }: Revision): boolean {
  return status?.lrp !== undefined && status.revision === metadata.name;
}

/** The version that cf shows, and why it was made: as in CF, a start with nothing new makes none. */
function planRelease(
  input: SnapshotInput,
  newestFirst: readonly Revision[],
  content: RevisionContent,
): Pick<RevisionSpec, "release" | "description"> {
  const description = describeChange(newestFirst[0]?.spec, content);
  if (input.app.spec.features?.revisions === false) return { description };
  const before = newestFirst.find(({ spec }) => spec.release !== undefined)?.spec;
  const reasons = [...(before ? listChanges(before, content) : ["Initial revision."]), ...listRollback(input)];
  const release = before?.release ?? 0;
  if (reasons.length === 0) return { release, description };
  return { release: release + 1, description: cutDetails(reasons.join(" ")) };
}

function listRollback({ rollout, revisions }: SnapshotInput): string[] {
  const restored = findRevision(rollout?.spec.revision?.name, revisions)?.spec;
  return restored ? [`Rolled back to revision ${restored.release ?? restored.version}.`] : [];
}

/** A Rollout may bring sizes of its own, or the commands and the environment of a former Revision. */
function toRolloutContent(content: RevisionContent, { rollout, revisions }: SnapshotInput): RevisionContent {
  if (!rollout) return content;
  const restored = findRevision(rollout.spec.revision?.name, revisions)?.spec;
  return {
    dropletRef: restored?.dropletRef ?? content.dropletRef,
    env: restored ? restored.env.map((variable) => ({ ...variable })) : content.env,
    ...toServices(content),
    processes: content.processes.map((process) => withRollout(process, rollout, restored)),
    ...toSidecars(restored ? restored.sidecars : content.sidecars),
  };
}

function withRollout(process: RevisionProcess, rollout: Rollout, restored: RevisionSpec | undefined): RevisionProcess {
  const { memoryMB, diskMB, logRateLimitBytesPerSecond } = rollout.spec;
  const former = restored?.processes.find(({ type }) => type === process.type);
  return omitUndefined({
    ...process,
    ...(former && { command: former.command }),
    ...(process.type === "web" && omitUndefined({ memoryMB, diskMB, logRateLimitBytesPerSecond })),
  });
}

/** Revisions without sidecars have no such field. */
function toSidecars(sidecars: readonly Sidecar[] | undefined): Pick<RevisionContent, "sidecars"> {
  return sidecars?.length ? { sidecars: [...sidecars] } : {};
}

/** Revisions without services have no such fields. */
function toServices({ services, serviceFiles, volumes }: ServicesPart): ServicesPart {
  return {
    ...(services?.length && { services: services.map((variable) => ({ ...variable })) }),
    ...(serviceFiles && { serviceFiles }),
    ...(volumes?.length && { volumes: volumes.map((volume) => ({ ...volume })) }),
  };
}

type ServicesPart = Pick<RevisionContent, "services" | "serviceFiles" | "volumes">;

function toContent({ app, droplet, processes, env, services, classes, adjustments }: SnapshotInput): RevisionContent {
  return {
    dropletRef: { name: droplet.metadata.name },
    env: env.map((variable) => ({ ...variable })),
    ...toServices({ services: services.env, serviceFiles: services.files, volumes: services.volumes }),
    processes: processes
      .map((process) => snapshotProcess(process, { droplet, classes, services, adjustments }))
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      // The field is a list-map keyed by type. CEL on names prevents two processes of one type.
      .filter((process, at, all) => process.type !== all[at - 1]?.type),
    ...toSidecars(mergeSidecars(app.spec.sidecars, droplet.spec.sidecars)),
  };
}

/** The current process, with every default filled in. */
export function snapshotProcess(
  process: Process,
  { droplet, classes, services, adjustments }: Pick<SnapshotInput, "droplet" | "classes" | "services" | "adjustments">,
): RevisionProcess {
  const { type, command, memoryMB, diskMB, cpu, logRateLimitBytesPerSecond, user, runner, ports } = process.spec;
  const backend = chooseClass(classes, {
    role: "runner",
    className: runner,
    requires: { capability: "dropletKinds", word: toRunnable(droplet).kind },
  });
  requireMounts(backend, services);
  return omitUndefined({
    type,
    command,
    memoryMB,
    diskMB,
    cpu,
    logRateLimitBytesPerSecond,
    healthCheck: effectiveHealthCheck(type, process.spec.healthCheck),
    readinessHealthCheck: effectiveReadinessCheck(process.spec.readinessHealthCheck),
    ports: effectivePorts(ports, droplet.spec.ports),
    user,
    runner: backend.metadata.name,
    adjustment: findPatch(process.metadata.name, adjustments, backend),
  });
}

function hasSameContent(latest: RevisionSpec, content: RevisionContent): boolean {
  const { dropletRef, env, processes, sidecars } = latest;
  const former = { dropletRef, env, ...toServices(latest), processes, ...toSidecars(sidecars) };
  return isDeepStrictEqual(toPlainJSON(former), toPlainJSON(content));
}

/** The value as a server would return it. */
function toPlainJSON(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The reasons in Cloud Foundry's words, sorted; in our own where CF has none. */
export function describeChange(before: RevisionContent | undefined, after: RevisionContent): string {
  if (!before) return "Initial revision.";
  const reasons = listChanges(before, after);
  const updated = after.processes.flatMap((process) => {
    const old = before.processes.find((candidate) => candidate.type === process.type);
    const isSame = !old || old.command !== process.command || isDeepStrictEqual(toPlainJSON(old), toPlainJSON(process));
    return isSame ? [] : [`Process '${process.type}' updated.`];
  });
  const all = [...reasons, ...updated].toSorted();
  return cutDetails(all.length > 0 ? all.join(" ") : "Restarted.");
}

/** The changes for which CF makes a new revision, in its words, sorted. */
function listChanges(before: RevisionContent, after: RevisionContent): string[] {
  return [
    ...(before.dropletRef.name === after.dropletRef.name ? [] : ["New droplet deployed."]),
    ...(isDeepStrictEqual(toPlainJSON(before.env), toPlainJSON(after.env))
      ? []
      : ["New environment variables deployed."]),
    ...describeProcesses(before.processes, after.processes),
    ...(isDeepStrictEqual(toPlainJSON(before.sidecars ?? []), toPlainJSON(after.sidecars ?? []))
      ? []
      : ["Sidecars updated."]),
  ].toSorted();
}

function describeProcesses(before: readonly RevisionProcess[], after: readonly RevisionProcess[]): string[] {
  const removed = before
    .filter((old) => !after.some((process) => process.type === old.type))
    .map((old) => `Process type '${old.type}' removed.`);
  const others = after.flatMap((process) => {
    const old = before.find((candidate) => candidate.type === process.type);
    return old ? describeProcess(old, process) : [`New process type '${process.type}' added.`];
  });
  return [...removed, ...others];
}

function describeProcess(old: RevisionProcess, process: RevisionProcess): string[] {
  if (old.command === process.command) return [];
  const change = old.command === undefined ? "added" : process.command === undefined ? "removed" : "updated";
  return [`Custom start command ${change} for '${process.type}' process.`];
}
