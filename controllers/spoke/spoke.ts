// On a cluster that runs what a hub makes there: gives the hub and the platform's own processes their rights on Secrets in the namespaces that the hub makes.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { HUB_SPACE_ROLE } from "../../crds/hub-account.ts";
import { ClusterRole, Namespace, RoleBinding } from "../../kube/api/builtin.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { isSpaceRoleBinding } from "../shared/role-bindings.ts";
import { isOfHub, planBindings } from "./plan.ts";

export const spokeController = defineController({
  name: "spoke",
  for: Namespace,
  owns: [RoleBinding],
  watches: [
    watch(RoleBinding, (binding, read) =>
      isSpaceRoleBinding(binding)
        ? read
            .list(Namespace)
            .filter(isOfHub)
            .map(({ metadata: { name } }) => ({ name }))
        : [],
    ),
  ],
  writesStatus: false,
  writesObject: false,
  // Granting a role needs the right to bind it.
  permissions: [{ resource: ClusterRole, verbs: ["bind"], names: [HUB_SPACE_ROLE, "cupola-agent-secrets"] }],

  reconcile: (namespace, { read }) => ({
    children: planBindings(namespace, read.list(RoleBinding, { namespace: SYSTEM_NAMESPACE })),
  }),
});
