// The operation `logs`: which replica follows the logs of which app, and from which replicas the API reads them.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import type { Member } from "../../kube/lease/member.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { CheckResult } from "../../kube/server/readiness.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Store } from "../../kube/cache/reader.ts";
import { pickOwner } from "../../telemetry/source-owner.ts";
import { startInstanceProblems } from "../../telemetry/pods/instance-problems.ts";
import type { LoggingContainer } from "../../telemetry/pods/pod-containers.ts";
import { startPodLogs } from "../../telemetry/pods/pod-logs.ts";
import type { LogStream } from "../../telemetry/pods/stream-log.ts";
import type { LogRing } from "../../telemetry/log-ring.ts";
import { hasTelemetry } from "../operations/backends.ts";
import type { Operation } from "../operations/operations.ts";
import { REPLICA_ANNOTATIONS, findLiveMembers } from "../leases/replica-membership.ts";

/** Permission to read the limits of instances and tasks. */
export const REPLICA_LOG_PERMISSIONS: readonly Permission[] = [LRP, TaskRun].map((resource) => ({
  resource,
  verbs: LIST_WATCH_VERBS,
}));

/** Address at which another process serves logs and stats. */
export interface TelemetryAddress {
  url: string;
  /** Authority that signed its certificate, PEM; absent on loopback. */
  authority?: string;
}

/** Replicas that keep logs of pods and have read the existing ones. */
function listLogReplicas(members: readonly Member[]): string[] {
  return members.filter(({ annotations }) => annotations[REPLICA_ANNOTATIONS.logs]).map(({ identity }) => identity);
}

function parseMemberOperations({ annotations }: Member): Operation[] {
  return (annotations[REPLICA_ANNOTATIONS.operations] ?? "").split(",") as Operation[];
}

/** Whether a process with these operations keeps lines or stats that no other replica has, so that every reader asks it. */
export function keepsOwnLines(operations: readonly Operation[]): boolean {
  return hasTelemetry(operations.filter((operation) => operation !== "logs"));
}

/** Where a replica serves its telemetry; undefined when it has none. */
export function toTelemetryAddress({ annotations }: Member): TelemetryAddress | undefined {
  const { [REPLICA_ANNOTATIONS.telemetry]: url, [REPLICA_ANNOTATIONS.authority]: authority } = annotations;
  return url ? { url, ...omitUndefined({ authority }) } : undefined;
}

/**
 * The replicas to ask for the logs of a source, or without one for stats: all with telemetry of their own, the owner among those that only keep logs
 * of pods, and one of those that read from other clusters.
 */
export function listTelemetryAddresses(members: readonly Member[], source?: string): TelemetryAddress[] {
  const owner = source === undefined ? undefined : findLogOwner(members, source);
  const own = members.flatMap((member) => {
    const address = toTelemetryAddress(member);
    return address && (keepsOwnLines(parseMemberOperations(member)) || member === owner) ? [address] : [];
  });
  const relay = findRelay(members, source);
  return relay ? [...own, relay] : own;
}

/** Every reader of a source asks the same one. */
function findRelay(members: readonly Member[], source = ""): TelemetryAddress | undefined {
  const relays = members.filter(({ annotations }) => annotations[REPLICA_ANNOTATIONS.relay]);
  const chosen = pickOwner(
    source,
    relays.map(({ identity }) => identity),
  );
  const annotations = relays.find(({ identity }) => identity === chosen)?.annotations ?? {};
  const { [REPLICA_ANNOTATIONS.relay]: url, [REPLICA_ANNOTATIONS.relayAuthority]: authority } = annotations;
  return url ? { url, ...omitUndefined({ authority }) } : undefined;
}

/** The replica that keeps the logs of a source; undefined when no replica keeps logs of pods. */
export function findLogOwner(members: readonly Member[], source: string): Member | undefined {
  const owner = pickOwner(source, listLogReplicas(members));
  return members.find(({ identity }) => identity === owner);
}

export interface ReplicaLogsOptions {
  client: KubeClient;
  informers: Informers;
  membership: Membership;
  ring: LogRing;
  log: Logger;
  /** The streams that the API server gives apart. */
  streams: readonly LogStream[];
}

export interface ReplicaLogs {
  checkReadiness(): CheckResult;
  stop(): void;
}

const POLL_MS = 200;

/** Follows the pods of the apps that this replica owns. Others ask it only after it has read the existing logs. */
export function startReplicaLogs({ membership, log, ...shared }: ReplicaLogsOptions): ReplicaLogs {
  let logReplicas: string[] = [membership.identity];
  const refreshReplicas = (): void => {
    const members = findLiveMembers(membership) ?? [];
    // A replica that is not in its own list of members cannot compute owners, so it keeps its sources.
    if (members.some(({ identity }) => identity === membership.identity))
      logReplicas = [...new Set([membership.identity, ...listLogReplicas(members)])];
  };
  refreshReplicas();
  const owns = (source: string): boolean => pickOwner(source, logReplicas) === membership.identity;
  const lrps = shared.informers.ensure(LRP);
  const taskRuns = shared.informers.ensure(TaskRun);
  const logs = startPodLogs({
    ...shared,
    log,
    owns,
    limitOf: (container) => findLogLimit({ lrps: lrps.store, taskRuns: taskRuns.store }, container),
  });
  const stopProblems = startInstanceProblems({ ...shared, owns });
  const stopListening = membership.onChange(() => {
    refreshReplicas();
    logs.reassign();
  });
  const abort = new AbortController();
  void announceLogs(membership, () => logs.isReady(), abort.signal, log);
  return {
    checkReadiness: () =>
      logs.isReady() ||
      (logs.isParked() ? { degraded: "pods cannot be seen" } : "the logs of running pods have not been read yet"),
    stop() {
      abort.abort();
      stopListening();
      stopProblems();
      lrps.release();
      taskRuns.release();
      logs.stop();
    },
  };
}

/** Bytes per second that an instance or a task may log; -1 while it is not known, or for none. */
export function findLogLimit(
  { lrps, taskRuns }: { lrps: Pick<Store<LRP>, "find">; taskRuns: Pick<Store<TaskRun>, "find"> },
  { namespace, lrp, taskRun }: Pick<LoggingContainer, "namespace" | "lrp" | "taskRun">,
): number {
  try {
    if (lrp !== undefined) return lrps.find({ namespace, name: lrp })?.spec.logRateLimitBytesPerSecond ?? -1;
    if (taskRun !== undefined)
      return taskRuns.find({ namespace, name: taskRun })?.spec.logRateLimitBytesPerSecond ?? -1;
    return -1;
  } catch (_error) {
    return -1; // They cannot be seen now: NotSynced, NotPermitted
  }
}

/** Announces this replica as a keeper of logs once it has read the existing ones. */
async function announceLogs(
  membership: Membership,
  isReady: () => boolean,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  for (let announced = false; !announced && !signal.aborted;) {
    await delay(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (!isReady() || signal.aborted) continue;
    try {
      await membership.annotate({ [REPLICA_ANNOTATIONS.logs]: "kept" });
      announced = true;
    } catch (err) {
      log.debug({ err }, "could not announce that this replica keeps logs; retrying");
    }
  }
}
