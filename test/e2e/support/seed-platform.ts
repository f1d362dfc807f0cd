// Objects of a laptop's first start, put on a cluster, so that journeys find the same: the org, its space, the developer's roles.
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { LOCAL_ORG, LOCAL_SPACE, seedRoles, seedSpace } from "../../../local/seed.ts";
import { applyObjects } from "../../../platform/install.ts";
import { eventually } from "../../eventually.ts";

/** @param first objects to apply before the space, the org among them */
export async function seedPlatform(admin: KubeClient, first: readonly KubeObject[]): Promise<void> {
  await applyObjects(admin, first);
  const orgNamespace = await eventually(async () => namespaceIn(await admin.get(Org, { name: LOCAL_ORG })));
  await applyObjects(admin, [seedSpace(orgNamespace)]);
  const spaceNamespace = await eventually(async () =>
    namespaceIn(await admin.get(Space, { namespace: orgNamespace, name: LOCAL_SPACE })),
  );
  await applyObjects(admin, seedRoles(orgNamespace, spaceNamespace));
}

function namespaceIn({ kind, status }: Org | Space): string {
  if (!status?.namespace) throw new Error(`the ${kind} has no namespace yet`);
  return status.namespace;
}
