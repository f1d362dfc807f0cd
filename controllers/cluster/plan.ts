// The status of a Cluster from what this platform has seen of it. Pure.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { HERE_LABEL } from "../../crds/cluster/local-cluster.ts";
import type { SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import type { EngagementState } from "../../kube/cache/cluster-provider.ts";
import type { ConditionDraft, FinalizeResult, ReadyDraft } from "../../kube/controller/controller.ts";
import { isReachable } from "../shared/reachable.ts";

/** The knowledge of this process about a cluster. */
export interface ClusterObservation {
  state: EngagementState;
  /** uid of its namespace kube-system. */
  uid?: string;
  /** Version of Kubernetes. */
  version?: string;
  /** Whether its LRPs and classes are known now. */
  isRead?: boolean;
  /** Kinds that the platform may not watch there. */
  refused?: readonly string[];
  /** Whether its Secret has the token for the logs and stats there. */
  hasLogToken?: boolean;
}

export interface ObserveClusters {
  /** Undefined for a cluster that was never asked for. */
  observe(name: string): ClusterObservation | undefined;
  /** Calls the listener with the name of a cluster after each change. Returns the unsubscribe function. */
  onChange(listener: (name: string) => void): () => void;
}

export interface ClusterPlan {
  reachable: ConditionDraft;
  ready: ReadyDraft;
}

export function planConditions(
  { metadata: { name }, spec, status }: Cluster,
  seen: ClusterObservation | undefined,
): ClusterPlan {
  const reachable = toReachable({ name, mode: spec.mode }, seen, status?.clusterUID !== undefined);
  const { type: _, ...why } = reachable;
  if (reachable.status !== "True") {
    const isWorking =
      seen === undefined ||
      seen.state.phase === "engaging" ||
      reachable.reason === "Reading" ||
      (spec.mode === "push" && spec.server === undefined);
    return { reachable, ready: { ...why, ...(!isWorking && { isFailure: true as const }) } };
  }
  return { reachable, ready: { status: "True", reason: "Reachable", message: reachable.message } };
}

function toReachable(
  { name, mode }: { name: string; mode: Cluster["spec"]["mode"] },
  { state, refused = [], isRead = true }: Partial<ClusterObservation> = {},
  isKnown = false,
): ConditionDraft {
  const type = "Reachable";
  switch (state?.phase) {
    case "engaged":
      return toUsable(name, { refused, isRead });
    case "refused":
      return {
        type,
        status: "False",
        reason: "CredentialRefused",
        message: toRefused(name, mode, state.reason),
      };
    case "silent":
      return toSilent(name, state.reason);
    case "failed":
      return toFailed(name, state, isKnown);
    default:
      return { type, status: "False", reason: "Engaging", message: `cluster ${name} has not answered yet` };
  }
}

function toRefused(name: string, mode: Cluster["spec"]["mode"], reason: string): string {
  const unchanged = "its instances are as they were last seen, and nothing there is changed";
  return mode === "pull"
    ? `${reason}; ${unchanged}. Install the chart on the cluster that ${name} was, or add the other one under another name: cup clusters add NAME --pull`
    : `cluster ${name} refuses the platform's credential (${reason}); ${unchanged}. Renew the credential: cup clusters add ${name} --context CONTEXT`;
}

/** The platform may have started anew since the cluster fell silent. */
function toFailed(
  name: string,
  { reason, isSilent }: { reason: string; isSilent: boolean },
  isKnown: boolean,
): ConditionDraft {
  if (isKnown && isSilent) return toSilent(name, reason);
  return { type: "Reachable", status: "False", reason: "NotEngaged", message: reason };
}

function toSilent(name: string, reason: string): ConditionDraft {
  return {
    type: "Reachable",
    status: "False",
    reason: "Silent",
    message: `cluster ${name} does not answer (${reason}); its instances are as they were last seen, and nothing there is changed. Where it is lost: cup clusters failover ${name}, or by itself where a segment says so`,
  };
}

/** The condition keeps its time while its status is False, whatever the reason: a cluster that refused for long may have been silent for a second. */
export function planSilence(
  { status }: Cluster,
  { reason }: ConditionDraft,
  now: Date,
): Pick<NonNullable<Cluster["status"]>, "silentSince"> {
  const before = status?.silentSince;
  if (reason === "Silent") return { silentSince: before ?? now.toISOString() };
  return { silentSince: reason === "Engaging" ? before : undefined };
}

/** A platform that starts knows nothing yet of a cluster. */
export function isStillAsking(seen: ClusterObservation | undefined): boolean {
  if (seen === undefined || seen.state.phase === "engaging") return true;
  return seen.state.phase === "engaged" && seen.isRead === false && (seen.refused ?? []).length === 0;
}

/** As long as an attempt lasts. */
const ASKING_MS = 15_000;

/** Whether a cluster that answered a former leader counts as one that answers. */
export function staysReachable(cluster: Cluster, askingMs: number): boolean {
  return isReachable(cluster) && askingMs < ASKING_MS;
}

/** Where a kind cannot be read, nothing is known of the instances, and nothing is made or removed. */
function toUsable(
  name: string,
  { refused, isRead }: Required<Pick<ClusterObservation, "refused" | "isRead">>,
): ConditionDraft {
  const type = "Reachable";
  if (refused.length === 0 && !isRead)
    return { type, status: "False", reason: "Reading", message: `cluster ${name} answers and is being read` };
  if (refused.length === 0) return { type, status: "True", reason: "Answers", message: `cluster ${name} answers` };
  return {
    type,
    status: "False",
    reason: "RightMissing",
    message: `the platform cannot list and watch ${refused.join(", ")} on cluster ${name}: its right or the kind is gone; the instances there are as they were last seen, and nothing is changed. Restore both: helm upgrade there`,
  };
}

function hasCondition(status: Cluster["status"], type: string): boolean {
  return status?.conditions?.some((one) => one.type === type) ?? false;
}

/** Conditions that change nothing of how a cluster is used, and tell a person what to do. */
export function toHints(cluster: Cluster, seen: ClusterObservation | undefined): ConditionDraft[] {
  return [...toWorkConditions(cluster), ...toLogConditions(cluster, seen)];
}

/** Says whether a pull cluster has objects that no Work holds. No condition while it never had any. */
function toWorkConditions({ metadata: { name }, status }: Cluster): ConditionDraft[] {
  const type = "WorksMissing";
  const orphans = status?.agent?.orphans;
  const isSaid = hasCondition(status, type);
  if (!orphans)
    return isSaid
      ? [{ type, status: "False", reason: "None", message: `every object on cluster ${name} has its Work` }]
      : [];
  return [
    {
      type,
      status: "True",
      reason: "WorksMissing",
      message: `${orphans.count} objects on cluster ${name} have no Work, such as ${orphans.example}: they stay as they are. Where nobody misses them, delete them there with kubectl`,
    },
  ];
}

/** Says that the logs of a cluster cannot be read for want of a token. No condition while it never lacked one; a laptop's own clusters need none. */
function toLogConditions(
  { metadata: { name, labels }, spec, status }: Cluster,
  seen: ClusterObservation | undefined,
): ConditionDraft[] {
  const type = "LogsReadable";
  const needsToken = spec.mode !== "pull" && labels?.[HERE_LABEL] === undefined;
  if (!needsToken || seen?.hasLogToken === undefined) return [];
  const isSaid = hasCondition(status, type);
  if (seen.hasLogToken)
    return isSaid
      ? [{ type, status: "True", reason: "HasToken", message: `the token for cluster ${name} is there` }]
      : [];
  return [
    {
      type,
      status: "False",
      reason: "TokenMissing",
      message: `logs and stats of apps on cluster ${name} cannot be read: no process of the platform had run there when it was added. When its pods are ready: cup clusters add ${name} --context CONTEXT`,
    },
  ];
}

/** Until then a Cluster that is deleted stays, so that placement knows that it was given up. */
const GIVING_UP_MS = 1_000;

const GIVEN_UP = "GivenUp";

/** Whether it has been given up before, and waits for its processes. */
export function isBeingGivenUp({ status }: Cluster): boolean {
  return status?.conditions?.some(({ type, reason }) => type === "Ready" && reason === GIVEN_UP) ?? false;
}

/** `holding`: processes that are placed there. */
export function planGivingUp(name: string, holding: number): FinalizeResult {
  if (holding === 0) return undefined;
  return {
    ready: {
      status: "False",
      reason: GIVEN_UP,
      message: `${holding} processes are being placed on other clusters than ${name}`,
    },
    requeueAfterMs: GIVING_UP_MS,
  };
}

/** For the status; undefined where the capacity is not known. */
export function toCapacity(capacity: SpokeFacts["capacity"]): NonNullable<Cluster["status"]>["capacity"] {
  if (!capacity) return undefined;
  const { memoryMB, requestedMemoryMB } = capacity;
  const free = memoryMB === 0 ? 0 : Math.floor((1 - requestedMemoryMB / memoryMB) * 100);
  return { memoryMB, requestedMemoryMB, freePercent: Math.min(Math.max(free, 0), 100) };
}
