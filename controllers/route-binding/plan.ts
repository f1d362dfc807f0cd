// The part of a RouteBinding that another cluster serves. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { generatedName } from "../../crds/object-names.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ConditionDraft } from "../../kube/controller/controller.ts";

/** Its condition besides the router's Ready; only where a process of the route is on another cluster. */
export const ON_CLUSTERS = "OnClusters";

type Destination = RouteBinding["spec"]["destinations"][number];

/** Clusters by name, each with the destinations that have instances there. Destinations in other spaces are left out. */
export function groupByCluster(
  { spec }: Pick<RouteBinding, "spec">,
  decisions: readonly Pick<PlacementDecision, "spec">[],
): Map<string, Destination[]> {
  const found = new Map<string, Destination[]>();
  // An internal route is for the apps of its own cluster.
  if (spec.internal) return found;
  for (const destination of spec.destinations.filter(({ namespace }) => namespace === undefined))
    for (const cluster of listClusters(destination, decisions))
      found.set(cluster, [...(found.get(cluster) ?? []), destination]);
  return found;
}

function listClusters(
  { appGUID, processType }: Destination,
  decisions: readonly Pick<PlacementDecision, "spec">[],
): string[] {
  const of = decisions.filter(({ spec }) => spec.app === appGUID && spec.processType === processType);
  return of.flatMap(({ spec }) =>
    spec.assignments.filter(({ indexes }) => indexes.length > 0).map(({ cluster }) => cluster),
  );
}

/** `hub`: the id of this platform. The name derives from it and the route's GUID, which a restored backup keeps. */
export function planCopy({ metadata, spec }: RouteBinding, destinations: readonly Destination[], hub: string): Draft {
  const { labels = {}, annotations = {} } = metadata;
  const pick = (from: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> =>
    Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]] as const])));
  return {
    apiVersion: apiVersionOf(RouteBinding),
    kind: RouteBinding.kind,
    metadata: {
      name: generatedName(spec.hostname.replace(/^\*/, "wildcard"), `${hub}/${spec.routeGUID}`),
      namespace: metadata.namespace,
      labels: pick(labels, [LABELS.space, LABELS.org, LABELS.route]),
      annotations: pick(annotations, [ANNOTATIONS.orgName, ANNOTATIONS.spaceName]),
    },
    spec: { ...spec, destinations },
  };
}

/** The clusters that may have a copy, as remembered on the binding: one that cannot be read now says nothing. */
export function rememberedClusters({ metadata }: Pick<RouteBinding, "metadata">): string[] {
  return (metadata.annotations?.[ANNOTATIONS.copiedTo] ?? "").split(",").filter((name) => name !== "");
}

/** The annotation; undefined removes it. */
export function toRemembered(names: Iterable<string>): Record<string, string | undefined> {
  const text = [...new Set(names)].toSorted().join(",");
  return { [ANNOTATIONS.copiedTo]: text === "" ? undefined : text };
}

/** Why a cluster with these classes does not serve the route; undefined when it does. */
export function findObstacle(
  { spec }: Pick<RouteBinding, "spec">,
  classes: readonly Pick<BackendClass, "metadata" | "spec" | "status">[],
): string | undefined {
  const router = classes.find(({ metadata, spec: { role } }) => role === "router" && metadata.name === spec.class);
  if (!router) return `has no router ${spec.class}`;
  // A route is served through its service or not at all: the service may be what protects the app.
  if (spec.routeService && router.status?.capabilities?.["routeServices"] !== "true")
    return `has no route services at its router ${spec.class}`;
  return undefined;
}

/** `obstacles`: by cluster. */
export function toCondition(
  serving: readonly string[],
  obstacles: ReadonlyMap<string, string>,
): Omit<ConditionDraft, "type"> {
  if (obstacles.size === 0)
    return { status: "True", reason: "Served", message: `served on ${serving.join(", ")}, too` };
  const sentences = [...obstacles].map(([cluster, why]) => `cluster ${cluster} ${why}`).join("; ");
  return {
    status: "False",
    reason: "NotServed",
    message: `${sentences}: requests that come there for the route find nothing`,
  };
}
