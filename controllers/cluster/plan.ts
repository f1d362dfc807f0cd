// The status of a Cluster from what this platform has seen of it. Pure.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import type { EngagementState } from "../../kube/cache/cluster-provider.ts";
import type { ConditionDraft, FinalizeResult, ReadyDraft } from "../../kube/controller/controller.ts";

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
  { metadata: { name }, spec }: Cluster,
  seen: ClusterObservation | undefined,
): ClusterPlan {
  const reachable = toReachable(name, seen);
  const { type: _, ...why } = reachable;
  if (reachable.status !== "True") {
    const isWorking =
      seen === undefined ||
      seen.state.phase === "engaging" ||
      reachable.reason === "Reading" ||
      spec.server === undefined;
    return { reachable, ready: { ...why, ...(!isWorking && { isFailure: true as const }) } };
  }
  return { reachable, ready: { status: "True", reason: "Reachable", message: reachable.message } };
}

function toReachable(
  name: string,
  { state, refused = [], isRead = true }: Partial<ClusterObservation> = {},
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
        message: `cluster ${name} refuses the platform's credential (${state.reason}); its instances are as they were last seen, and nothing there is changed. Renew the credential: cup clusters add ${name} --context CONTEXT`,
      };
    case "silent":
      return {
        type,
        status: "False",
        reason: "Silent",
        message: `cluster ${name} does not answer (${state.reason}); its instances are as they were last seen, and nothing there is changed`,
      };
    case "failed":
      return { type, status: "False", reason: "NotEngaged", message: state.reason };
    default:
      return { type, status: "False", reason: "Engaging", message: `cluster ${name} has not answered yet` };
  }
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

/** Until then a Cluster that is deleted stays, so that placement knows that it was given up. */
const GIVING_UP_MS = 1_000;

/** `holding`: processes that are placed there. */
export function planGivingUp(name: string, holding: number): FinalizeResult {
  if (holding === 0) return undefined;
  return {
    ready: {
      status: "False",
      reason: "GivenUp",
      message: `${holding} processes are being placed on other clusters than ${name}`,
    },
    requeueAfterMs: GIVING_UP_MS,
  };
}
