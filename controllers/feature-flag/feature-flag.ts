// Reports a FeatureFlag's effective value, and binds the role of user_org_creation.
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { ClusterRoleBinding } from "../../kube/api/builtin.ts";
import { defineController, Stalled } from "../../kube/controller/controller.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { findFlagValue, planFlagPermissions } from "./plan.ts";

export const featureFlagController = defineController({
  name: "feature-flag",
  for: FeatureFlag,
  owns: [ClusterRoleBinding],
  indexes: { [GUID_INDEX]: indexByGUID },
  reconcile(flag, context) {
    const { labels } = resolveGUID(FeatureFlag, flag, context);
    const enabled = findFlagValue(flag);
    if (enabled === undefined)
      throw new Stalled(
        "UnknownFlag",
        "this is no feature flag of CF, or not in the system namespace: nothing follows from it",
      );
    return { children: planFlagPermissions(flag), labels, status: { enabled } };
  },
});
