// The apps that an object belongs to: their people see its violations.
import { keyOf, type KubeObject } from "../../kube/api/object.ts";
import { appNamespaceOf } from "../route/destinations.ts";
import { Route } from "../route/route.ts";
import { App } from "../app/app.ts";

/** Keys of the apps, as `namespace/name`: the App itself, the app that an object names, the apps behind a route. */
export function appKeysOf(object: KubeObject): string[] {
  const { namespace, name } = object.metadata;
  if (namespace === undefined) return [];
  if (object.kind === App.kind) return [keyOf({ namespace, name })];
  if (object.kind === Route.kind) return routeApps(object as Route);
  const { appRef } = (object["spec"] ?? {}) as { appRef?: { name?: string } };
  return appRef?.name === undefined ? [] : [keyOf({ namespace, name: appRef.name })];
}

function routeApps(route: Route): string[] {
  const keys = (route.spec.destinations ?? []).map((one) =>
    keyOf({ namespace: appNamespaceOf(route, one), name: one.app }),
  );
  return [...new Set(keys)];
}
