// What an Org is: a tenant. Its namespace holds its Spaces and private Domains.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName, noDotInName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Org = defineResource({
  group: GROUP,
  kind: "Org",
  plural: "orgs",
  namespaced: false,
  shortNames: ["cforg"],
  categories: [CATEGORY],
  description: "A tenant of the platform: a set of spaces with common domains, quota and members.",
  columns: [
    { name: "CF-Name", jsonPath: ".status.name" },
    { name: "Namespace", jsonPath: ".status.namespace" },
    { name: "Suspended", jsonPath: ".spec.suspended", type: "boolean", wide: true },
  ],
  rules: [noDotInName("an Org")],
  spec: z.object({
    name: displayName,
    suspended: z.boolean().default(false).describe("While true, nobody but an admin may change anything in the org."),
    quotaRef: refTo("OrgQuota").optional().describe("The quota of this org; the default one when left out."),
  }),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The name in force."),
    namespace: z.string().max(63).optional().describe("The namespace that holds the org's spaces and private domains."),
  }),
});
export type Org = Resource<typeof Org>;
