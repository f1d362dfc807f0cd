// The status of a Cluster from what this platform has seen of it. Pure.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import type { EngagementState } from "../../kube/cache/cluster-provider.ts";
import type { ConditionDraft, ReadyDraft } from "../../kube/controller/controller.ts";

/** The knowledge of this process about a cluster. */
export interface ClusterObservation {
  state: EngagementState;
  /** uid of its namespace kube-system. */
  uid?: string;
  /** Version of Kubernetes. */
  version?: string;
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
  const reachable = toReachable(name, seen?.state);
  const { type: _, ...why } = reachable;
  if (reachable.status !== "True") {
    const isWorking = seen === undefined || seen.state.phase === "engaging" || spec.server === undefined;
    return { reachable, ready: { ...why, ...(!isWorking && { isFailure: true as const }) } };
  }
  return { reachable, ready: { status: "True", reason: "Reachable", message: reachable.message } };
}

function toReachable(name: string, state: EngagementState | undefined): ConditionDraft {
  const type = "Reachable";
  switch (state?.phase) {
    case "engaged":
      return { type, status: "True", reason: "Answers", message: `cluster ${name} answers` };
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
