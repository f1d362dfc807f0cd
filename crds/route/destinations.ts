// Where the apps of a route's destinations are: in the route's own space, or in one that the route is shared with. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import type { Destination, Route } from "./route.ts";

type RoutePart = Pick<KubeObject, "metadata"> & { spec: Pick<Route["spec"], "sharedSpaces"> };

/** The namespace of a destination's app. */
export function appNamespaceOf(route: Pick<KubeObject, "metadata">, { namespace }: Partial<Destination>): string {
  return namespace || (route.metadata.namespace ?? "");
}

/** A destination's `namespace` for an app of that namespace: empty for the route's own. */
export function toDestinationNamespace(route: Pick<KubeObject, "metadata">, namespace: string | undefined): string {
  return namespace === undefined || namespace === route.metadata.namespace ? "" : namespace;
}

/** Does the destination lead to a process of this app? */
export function leadsTo(
  route: Pick<KubeObject, "metadata">,
  destination: Pick<Destination, "app" | "namespace">,
  app: Pick<KubeObject["metadata"], "name" | "namespace">,
): boolean {
  return destination.app === app.name && appNamespaceOf(route, destination) === (app.namespace ?? "");
}

/** Fields of a route's spec once it is no longer shared with a space: its destinations there go, too. Undefined when it is not shared with it. */
export function withoutSpace(
  { spec: { sharedSpaces = [], destinations } }: Pick<Route, "spec">,
  namespace: string,
): Partial<Route["spec"]> | undefined {
  if (!sharedSpaces.includes(namespace)) return undefined;
  return {
    sharedSpaces: sharedSpaces.filter((one) => one !== namespace),
    destinations: destinations.filter((one) => one.namespace !== namespace),
  };
}

/** May apps of this namespace serve the route? */
export function isAvailableIn(route: RoutePart, namespace: string | undefined): boolean {
  return namespace === route.metadata.namespace || (route.spec.sharedSpaces ?? []).includes(namespace ?? "");
}
