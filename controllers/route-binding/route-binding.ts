// Copies RouteBindings to the clusters on which their processes run, so that the routers there serve the routes.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft } from "../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type ReconcileResult,
  type RemoteClusters,
} from "../../kube/controller/controller.ts";
import { planClusterNamespace } from "../shared/cluster-namespace.ts";
import { isGivenUp, listHolders } from "../shared/other-clusters.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import {
  findObstacle,
  groupByCluster,
  ON_CLUSTERS,
  planCopy,
  rememberedClusters,
  toCondition,
  toRemembered,
} from "./plan.ts";

/** RouteBindings by the GUIDs of their apps. */
const APP_INDEX = "controllers/route-app";

export function routeBindingController(): Controller {
  return defineController({
    name: "route-binding",
    for: RouteBinding,
    reads: [...TENANCY_KINDS, Cluster, Namespace],
    indexes: { [APP_INDEX]: ({ spec }: RouteBinding) => [...new Set(spec.destinations.map(({ appGUID }) => appGUID))] },
    watches: [watch(PlacementDecision, ({ spec }) => ({ [APP_INDEX]: spec.app }))],
    remote: {
      owns: [RouteBinding, Namespace],
      reads: [BackendClass],
      mapCluster: (_cluster, read) => read.list(RouteBinding).map(({ metadata }) => metadata),
    },
    condition: ON_CLUSTERS,
    finalizer: "cupola.dev/clusters",
    dropsFinalizer: true,
    needsFinalizer: (binding, context) =>
      listPlaces(binding, context.read).size > 0 ||
      listHolders(context.clusters, RouteBinding, binding.spec.routeGUID).length > 0 ||
      listUnseen(binding, context).length > 0,
    reconcile: reconcileCopies,
    finalize: endCopies,
  });
}

/** The other clusters that are to serve the route, with its destinations there. */
function listPlaces(binding: RouteBinding, read: Reader): ReturnType<typeof groupByCluster> {
  const { namespace } = binding.metadata;
  const places = groupByCluster(binding, read.list(PlacementDecision, { namespace }));
  places.delete(LOCAL_CLUSTER);
  return places;
}

/** Clusters that may have a copy, and cannot be read now. One whose Cluster is gone, or going, was given up. */
function listUnseen(binding: RouteBinding, { read, clusters }: Pick<ReconcileContext, "read" | "clusters">): string[] {
  return rememberedClusters(binding).filter((name) => !clusters.find(name) && !isGivenUp(name, read));
}

function reconcileCopies(binding: RouteBinding, { read, clusters }: ReconcileContext): ReconcileResult {
  const places = listPlaces(binding, read);
  const holders = listHolders(clusters, RouteBinding, binding.spec.routeGUID);
  // Without other clusters the binding costs no write more.
  if (places.size === 0 && holders.length === 0 && rememberedClusters(binding).length === 0) return toSilence(binding);
  const namespace = planClusterNamespace(read, binding.metadata.namespace ?? "", clusters.markers);
  const { copies, obstacles } = planCopies(binding, { places, clusters });
  const serving = [...copies.keys()];
  const isSaid = serving.length > 0 || obstacles.size > 0;
  return {
    // Written before a copy is made.
    annotations: toRemembered([...holders, ...serving, ...listUnseen(binding, { read, clusters })]),
    remote: {
      owner: binding.spec.routeGUID,
      children: Object.fromEntries(
        [...new Set([...holders, ...serving])].map((name) => [name, copies.get(name) ?? []]),
      ),
      ...(namespace && { ensured: Object.fromEntries(serving.map((name) => [name, [namespace]])) }),
    },
    ...(isSaid ? { ready: toCondition(serving, obstacles) } : toSilence(binding)),
  };
}

/** Says nothing, unless an earlier condition is not true any more. */
function toSilence({ status }: RouteBinding): ReconcileResult {
  const said = status?.conditions?.some(({ type }) => type === ON_CLUSTERS);
  if (!said) return { keepStatus: true };
  return { ready: { status: "True", reason: "OnlyHere", message: "no process of the route is on another cluster" } };
}

/** A cluster that cannot be read now is left out. */
function planCopies(
  binding: RouteBinding,
  { places, clusters }: { places: ReturnType<typeof groupByCluster>; clusters: RemoteClusters },
): { copies: Map<string, Draft[]>; obstacles: Map<string, string> } {
  const copies = new Map<string, Draft[]>();
  const obstacles = new Map<string, string>();
  for (const [name, destinations] of places) {
    const remote = clusters.find(name);
    if (!remote || !clusters.markers) continue;
    const classes = remote.read.list(BackendClass);
    const obstacle = findObstacle(binding, classes);
    if (obstacle === undefined) copies.set(name, [planCopy(binding, destinations, clusters.markers.hub)]);
    // A cluster without any router, as on a laptop, is served by that of the platform's own.
    else if (classes.some(({ spec }) => spec.role === "router")) obstacles.set(name, obstacle);
  }
  return { copies, obstacles };
}

/** A cluster that cannot be read may have a copy still. */
function endCopies(binding: RouteBinding, { read, clusters }: ReconcileContext): FinalizeResult {
  const holders = listHolders(clusters, RouteBinding, binding.spec.routeGUID);
  const unseen = listUnseen(binding, { read, clusters });
  if (holders.length === 0 && unseen.length === 0) return undefined;
  return {
    annotations: toRemembered([...holders, ...unseen]),
    remote: { owner: binding.spec.routeGUID, children: Object.fromEntries(holders.map((name) => [name, []])) },
    ready: {
      status: "False",
      reason: unseen.length > 0 ? "ClusterUnreachable" : "Stopping",
      message: `its copies on ${[...new Set([...holders, ...unseen])].join(", ")} must go first`,
    },
  };
}
