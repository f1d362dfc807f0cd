// What a FeatureFlag is: an operator's switch for one thing that CF lets people do. Its name is CF's, with dashes.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const FeatureFlag = defineResource({
  group: GROUP,
  kind: "FeatureFlag",
  plural: "featureflags",
  namespaced: true,
  shortNames: ["cfflag"],
  categories: [CATEGORY],
  description:
    "A switch for one thing that people may do on this platform. It counts in the system namespace, by CF's name with dashes; without enabled the default holds.",
  columns: [{ name: "Enabled", jsonPath: ".spec.enabled", type: "boolean" }],
  spec: z.object({
    enabled: z
      .boolean()
      .optional()
      .describe("Whether it may be done. The default when left out: CF's, but on for diego_docker and diego_cnb."),
    customErrorMessage: z.string().max(250).optional().describe("What those hear who are refused."),
  }),
  status: readyStatus({ enabled: z.boolean().optional().describe("What is in force.") }),
});
export type FeatureFlag = Resource<typeof FeatureFlag>;
