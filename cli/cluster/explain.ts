// `cup placement explain APP`: why each cluster has instances of a process, or has none. The platform's own rules say so, on what the cluster holds now.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { DEFAULT_FAILOVER, IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../crds/labels.ts";
import { listIndexes } from "../../crds/lrp/index-pool.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { localFacts, toFacts } from "../../controllers/placement-decision/clusters.ts";
import {
  explain,
  type ClusterFacts,
  type Explanation,
  type PlacementRequest,
  type RejectionReason,
} from "../../controllers/placement-decision/plan.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";
import { findSpace } from "../policy/find-space.ts";

export async function explainPlacement(
  kube: KubeClient,
  context: Context,
  name: string,
  { process: type = "web" }: { process?: string },
): Promise<Result> {
  const { guid } = await context.app(name);
  const space = await findSpace(kube, context);
  if (!space) throw new Failure("the space's namespace cannot be read with this kubeconfig", { next: "cup login" });
  const { namespace } = space;
  const { items } = await kube.list(PlacementDecision, { namespace, labelSelector: `${LABELS.app}=${guid}` });
  const decision = items.find(({ spec }) => spec.processType === type);
  if (!decision)
    return {
      json: { app: name, process: type, segment: null, clusters: [] },
      text: [
        `Process ${type} of app ${name} has no placement: it does not run, or its segment places nothing and it runs on the platform's own cluster.`,
      ],
    };
  return (await explainDecision(kube, decision)) ?? presentStatus(name, decision);
}

/** Undefined for a caller who may not read clusters. */
async function explainDecision(kube: KubeClient, decision: PlacementDecision): Promise<Result | undefined> {
  const [clusters, classes, segment] = await Promise.all([
    listOrNothing(kube, Cluster, { namespace: SYSTEM_NAMESPACE }),
    listOrNothing(kube, BackendClass, {}),
    kube.find(IsolationSegment, { namespace: SYSTEM_NAMESPACE, name: decision.spec.segment }),
  ]);
  const placement = segment?.spec.placement;
  if (!clusters || !classes || !placement) return undefined;
  const facts = [localFacts(classes), ...clusters.map(toFacts)];
  const failover = segment.spec.failover ?? DEFAULT_FAILOVER;
  const request = { ...(await readRequest(kube, decision)), placement, failover, now: Date.now() };
  return presentExplanation(decision, { request, facts });
}

async function listOrNothing<T extends KubeObject>(
  kube: KubeClient,
  ref: ResourceRef<T>,
  options: { namespace?: string },
): Promise<readonly T[] | undefined> {
  return kube.list(ref, options).then(
    ({ items }) => items,
    (error: unknown) => {
      if (isForbidden(error)) return undefined;
      throw error;
    },
  );
}

async function readRequest(
  kube: KubeClient,
  decision: PlacementDecision,
): Promise<Omit<PlacementRequest, "placement" | "failover" | "now">> {
  const { metadata, spec } = decision;
  const process = await kube.find(Process, { namespace: metadata.namespace, name: metadata.name });
  const revision = process && (await findRevision(kube, process));
  return {
    guid: process?.metadata.uid ?? "",
    instances: new Set(spec.assignments.flatMap(({ indexes }) => listIndexes(indexes))).size,
    ...findNeeds(revision, spec.processType),
    previous: spec.assignments,
    isNewStart: false,
    kept: new Set(),
    mayBegin: () => true,
    isServing: () => false,
  };
}

function findNeeds(
  revision: Revision | undefined,
  type: string,
): Pick<PlacementRequest, "runner" | "memoryMB" | "hasVolumes"> {
  const snapshot = revision?.spec.processes.find((one) => one.type === type);
  return {
    runner: snapshot?.runner ?? "",
    memoryMB: snapshot?.memoryMB ?? 0,
    hasVolumes: (revision?.spec.volumes ?? []).length > 0,
  };
}

async function findRevision(kube: KubeClient, { metadata, spec }: Process): Promise<Revision | undefined> {
  const { namespace } = metadata;
  const app = await kube.find(App, { namespace, name: spec.appRef.name });
  const name = app?.status?.revision;
  return name === undefined ? undefined : kube.find(Revision, { namespace, name });
}

/** Pure. */
export function presentExplanation(
  { spec }: Pick<PlacementDecision, "spec">,
  { request, facts }: { request: PlacementRequest; facts: readonly ClusterFacts[] },
): Result {
  const held = new Map(spec.assignments.map((one) => [one.cluster, one]));
  const explained = explain(request, facts).map((one) => {
    const cluster = facts.find(({ name }) => name === one.cluster);
    const indexes = listIndexes(held.get(one.cluster)?.indexes ?? []);
    return { ...one, indexes, state: held.get(one.cluster)?.state ?? null, why: describe(one, { cluster, request }) };
  });
  return {
    json: {
      segment: spec.segment,
      process: spec.processType,
      clusters: explained.map(({ cluster, indexes, state, reason, why }) => ({
        cluster,
        indexes,
        state,
        reason: reason ?? null,
        why,
      })),
    },
    text: table(
      ["cluster", "instances", "why"],
      explained.map(({ cluster, indexes, why }) => [cluster, indexes.join(", ") || "-", why]),
    ),
  };
}

const WHY: Readonly<Record<Exclude<RejectionReason, "Tainted" | "RunnerMissing" | "CannotSplit">, string>> = {
  NotSelected: "rejected: its labels do not match the placement of the segment",
  NoLongerMatches:
    "gets nothing new: the segment does not choose it any more, or its runner is gone; a restart leaves it",
  HasNoVolumes: "rejected: the app mounts volumes, which only the platform's own cluster has",
  Cordoned: "rejected: it is cordoned (cup clusters uncordon)",
  Draining: "is drained: each instance ends there when its successor takes requests",
  GivenUp: "rejected: it is being removed",
  Unreachable: "gets nothing new: it does not answer",
  FailedOver: "does not answer for too long: its instances start on other clusters",
  FailoverHeld:
    "does not answer, as many clusters of the segment: nothing moves by itself (cup clusters failover, where it is lost)",
  NeverFailsOver: "does not answer, and its instances stay: the segment never fails over",
  NoMemory: "rejected: it has no memory left for an instance",
  NotNeeded: "would take it, and the segment has enough clusters without it",
};

function describe(
  { reason, indexes }: Explanation,
  { cluster, request }: { cluster: ClusterFacts | undefined; request: PlacementRequest },
): string {
  const tolerated = new Set(request.placement.tolerations.map(({ key }) => key));
  switch (reason) {
    case undefined:
      return indexes.length === 0 ? "takes new instances" : "holds them, and takes new ones";
    case "Tainted":
      return `rejected: taint ${cluster?.taints.filter((key) => !tolerated.has(key)).join(", ")}, which the segment does not tolerate`;
    case "RunnerMissing":
      return `rejected: it has no runner ${request.runner}`;
    case "CannotSplit":
      return `rejected: its runner ${request.runner} takes no part of a process's indexes`;
    default:
      return WHY[reason];
  }
}

/** For members of a space, who may read the decision and no clusters. */
function presentStatus(app: string, { spec, status }: PlacementDecision): Result {
  const held = spec.assignments.map(({ cluster, indexes }) => [cluster, listIndexes(indexes).join(", "), "holds them"]);
  const rejected = (status?.rejected ?? []).map(({ reason, clusters, example }) => [
    clusters === 1 ? example : `${example} and ${clusters - 1} more`,
    "-",
    reason,
  ]);
  return {
    json: {
      app,
      process: spec.processType,
      segment: spec.segment,
      assignments: spec.assignments,
      rejected: status?.rejected ?? [],
    },
    text: table(["cluster", "instances", "why"], [...held, ...rejected]),
  };
}
