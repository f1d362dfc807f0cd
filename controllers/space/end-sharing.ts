// Ends what other spaces share with a space under deletion: another org's space may get its namespace's name later, and must not inherit it.
import { withoutSpace as routeWithoutSpace } from "../../crds/route/destinations.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceInstance, withoutSpace as instanceWithoutSpace } from "../../crds/service-instance/service-instance.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";

/** Removes the space's namespace from Routes and ServiceInstances. @throws KubeError Conflict for one that has changed meanwhile, which is retried */
export async function endSharing(namespace: string, { read, client }: ReconcileContext): Promise<void> {
  for (const route of read.list(Route)) {
    const spec = routeWithoutSpace(route, namespace);
    if (spec) await client.patch(Route, route.metadata, toPatch(route.metadata, spec));
  }
  for (const instance of read.list(ServiceInstance)) {
    const spec = instanceWithoutSpace(instance, namespace);
    if (spec) await client.patch(ServiceInstance, instance.metadata, toPatch(instance.metadata, spec));
  }
}

function toPatch({ resourceVersion }: { resourceVersion?: string }, spec: object) {
  return { type: "merge", body: { metadata: { resourceVersion }, spec } } as const;
}
