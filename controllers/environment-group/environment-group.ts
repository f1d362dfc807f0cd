// Says whether an EnvironmentGroup is in force. Processes and builds read it when they start.
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { defineController, Stalled } from "../../kube/controller/controller.ts";

export const environmentGroupController = defineController({
  name: "environment-group",
  for: EnvironmentGroup,
  reconcile({ metadata }) {
    if (metadata.namespace !== SYSTEM_NAMESPACE)
      throw new Stalled(
        "NotInSystemNamespace",
        `only an EnvironmentGroup in namespace ${SYSTEM_NAMESPACE} is in force`,
      );
    return {};
  },
});
