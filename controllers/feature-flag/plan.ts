// Plans a FeatureFlag: most flags are read where they are enforced, but user_org_creation is a permission and becomes a binding. Pure.
import type { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { findFlagName, isFlagEnabled } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ORG_CREATOR } from "../../crds/roles.ts";
import { ClusterRoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";

const RBAC = ClusterRoleBinding.group;

/** The effective value; undefined for a flag that CF does not know or that is in another namespace. */
export function findFlagValue(flag: FeatureFlag): boolean | undefined {
  const name = flag.metadata.namespace === SYSTEM_NAMESPACE ? findFlagName(flag.metadata.name) : undefined;
  return name && isFlagEnabled(name, flag);
}

export function planFlagPermissions(flag: FeatureFlag): Draft[] {
  if (findFlagName(flag.metadata.name) !== "user_org_creation" || findFlagValue(flag) !== true) return [];
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: ORG_CREATOR },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: ORG_CREATOR },
      subjects: [{ kind: "Group", apiGroup: RBAC, name: "system:authenticated" }],
    },
  ];
}
