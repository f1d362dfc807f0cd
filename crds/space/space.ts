// What a Space is: where apps live. It owns, or adopts, one namespace.
import { z } from "zod";
import { defineResource, immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName, noDotInName } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Space = defineResource({
  group: GROUP,
  kind: "Space",
  plural: "spaces",
  namespaced: true,
  shortNames: ["cfspace"],
  categories: [CATEGORY],
  description:
    "A place for apps inside an org, with its own members. It owns one namespace, where its apps, routes and service instances are.",
  columns: [
    { name: "CF-Name", jsonPath: ".status.name" },
    { name: "Space-Namespace", jsonPath: ".status.namespace" },
  ],
  rules: [noDotInName("a Space")],
  spec: immutable(
    z.object({
      name: displayName,
      namespace: z
        .string()
        .min(1)
        .max(63)
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
        .optional()
        .describe(
          "An existing namespace to adopt. It must consent by the label cupola.dev/adoptable-by. A new namespace is made when left out.",
        ),
      suspended: z
        .boolean()
        .default(false)
        .describe("While true, nobody but an admin or a manager of the org may change anything in the space."),
      allowSSH: z.boolean().default(true).describe("Whether app instances of this space may be entered by ssh."),
    }),
    "namespace",
  ),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The name in force."),
    namespace: z.string().max(63).optional().describe("The namespace of this space."),
  }),
});
export type Space = Resource<typeof Space>;
