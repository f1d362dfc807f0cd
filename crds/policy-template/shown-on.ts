// The objects whose status shows an object's violations to people: apps with all that belongs to them, and spaces.
import { keyOf, parseKey, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import { appNamespaceOf } from "../route/destinations.ts";
import { Route } from "../route/route.ts";
import { App } from "../app/app.ts";
import { Space } from "../space/space.ts";

/** The id of an App or a Space: `Kind namespace/name`. */
export function shownId(kind: string, key: ObjectKey): string {
  return `${kind} ${keyOf(key)}`;
}

/** The key in an id; undefined when it is of another kind. */
export function keyOfShown(kind: string, id: string): ObjectKey | undefined {
  return id.startsWith(`${kind} `) ? parseKey(id.slice(kind.length + 1)) : undefined;
}

/** Ids of the Space or the App itself, of the app that an object names, of the apps behind a route. */
export function listShownOn(object: KubeObject): string[] {
  const { namespace, name } = object.metadata;
  if (namespace === undefined) return [];
  if (object.kind === App.kind || object.kind === Space.kind) return [shownId(object.kind, { namespace, name })];
  if (object.kind === Route.kind) return routeApps(object as Route);
  const { appRef } = (object["spec"] ?? {}) as { appRef?: { name?: string } };
  return appRef?.name === undefined ? [] : [shownId(App.kind, { namespace, name: appRef.name })];
}

function routeApps(route: Route): string[] {
  const ids = (route.spec.destinations ?? []).map((one) =>
    shownId(App.kind, { namespace: appNamespaceOf(route, one), name: one.app }),
  );
  return [...new Set(ids)];
}
