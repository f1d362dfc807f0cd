// Policies bound the writes of the operations: a kind that a controller begins to write is no way out of the platform's namespaces.
import { expect, test } from "vitest";
import { listAdmissionPolicies } from "../../crds/admission-policies.ts";
import { CONSTRAINTS_GROUP, GROUP, SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "../../crds/groups.ts";
import { platformRole } from "../../crds/platform-role.ts";
import { planLost, toPermissions } from "../../kube/rbac/lost-permissions.ts";
import { formatPermission } from "../../kube/rbac/missing-permissions.ts";
import type { PolicyRule } from "../../kube/rbac/types.ts";
import { LOCAL_OPERATIONS, OPERATIONS, type Operation } from "./operations.ts";
import { toOperationPermissions } from "./permissions.ts";

interface PolicyObject {
  kind: string;
  metadata: { name: string };
  spec: { matchConstraints: { resourceRules: { apiGroups: string[]; resources: string[] }[] } };
}

const policies = (listAdmissionPolicies() as unknown as PolicyObject[]).filter(
  ({ kind, metadata }) => kind === "ValidatingAdmissionPolicy" && metadata.name.startsWith("platform-"),
);

/**
 * Events harm nobody. No policy is asked about admission's own kinds: the webhook's configuration has one name, and the operation `policies`,
 * which writes the others, has an account of its own.
 */
const UNBOUND = [
  "/events",
  ...["validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings"].map(
    (plural) => `admissionregistration.k8s.io/${plural}`,
  ),
];
const HARMLESS = new Set(["get", "list", "watch", "bind"]);

test.each(Object.keys(OPERATIONS) as Operation[])(
  "whatever %s may write in all namespaces, a policy bounds",
  (operation) => {
    const bounded = policies
      .flatMap(({ spec }) => spec.matchConstraints.resourceRules)
      .flatMap(({ apiGroups, resources }) => resources.map((resource) => `${apiGroups[0]}/${resource}`));
    const written = toOperationPermissions(operation)
      .cluster.filter(
        ({ apiGroups }) =>
          ![GROUP, WORKLOADS_GROUP, CONSTRAINTS_GROUP, "authentication.k8s.io", "authorization.k8s.io"].includes(
            apiGroups[0] ?? "",
          ),
      )
      .filter(({ verbs }) => verbs.some((verb) => !HARMLESS.has(verb)))
      .flatMap(({ apiGroups, resources }) => resources.map((resource) => `${apiGroups[0]}/${resource}`));
    expect(written.filter((resource) => !bounded.includes(resource) && !UNBOUND.includes(resource))).toEqual([]);
  },
);

test.each(LOCAL_OPERATIONS)("the role of a laptop's process allows whatever %s declares", (operation) => {
  const { cluster, system } = toOperationPermissions(operation);
  const { rules } = platformRole() as unknown as { rules: PolicyRule[] };
  const lost = planLost(toPermissions([...cluster, ...system], SYSTEM_NAMESPACE), rules);
  expect(lost.map(formatPermission)).toEqual([]);
});
