// The facts of a spoke with one node, as its agent tells them.
import { spokeFactsController } from "../../../controllers/spoke/facts.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";

const Node: ResourceRef = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };

/** At once: the agent itself counts again after two minutes only. */
export async function tellFacts(agent: KubeClient, spoke: KubeClient): Promise<void> {
  const node = await spoke.create(Node, { metadata: { name: "n1" } });
  const capacity = { memory: "8Gi" };
  const body = { status: { capacity, allocatable: capacity } };
  await spoke.patch(Node, node.metadata, { type: "merge", body }, { subresource: "status" });
  const context = { client: agent } as unknown as ReconcileContext;
  await spokeFactsController("1.6.0").reconcile({ metadata: { name: SYSTEM_NAMESPACE } } as KubeObject, context);
}
