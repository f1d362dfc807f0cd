// The FeatureFlag kind: an operator's switch for one CF feature. Its object name is CF's name with dashes.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

export const FeatureFlag = defineKind({
  group: GROUP,
  kind: "FeatureFlag",
  plural: "featureflags",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfflag"],
  categories: [CATEGORY],
  description:
    "A switch for one CF feature of this platform. It is read from the system namespace and named as in CF, with dashes. Without spec.enabled the default applies.",
  columns: [{ name: "Enabled", jsonPath: ".spec.enabled", type: "boolean" }],
  spec: z.object({
    enabled: z
      .boolean()
      .optional()
      .describe("Whether the feature is on. Defaults to CF's default, except that diego_docker and diego_cnb are on."),
    customErrorMessage: z.string().max(250).optional().describe("Message for users whose request is refused."),
  }),
  status: readyStatus({ enabled: z.boolean().optional().describe("The effective value.") }),
});
export type FeatureFlag = Resource<typeof FeatureFlag>;
