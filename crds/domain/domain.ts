// What a Domain is: the right-hand side of routes. Shared ones live in the system namespace, private ones in their org's.
import { z } from "zod";
import { defineResource, immutable, listSet, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Domain = defineResource({
  group: GROUP,
  kind: "Domain",
  plural: "domains",
  namespaced: true,
  shortNames: ["cfdomain"],
  categories: [CATEGORY],
  description:
    "A DNS domain that routes are made in. In the system namespace it is shared by all orgs; in an org's namespace it is that org's own.",
  columns: [
    { name: "Domain", jsonPath: ".spec.name" },
    { name: "Internal", jsonPath: ".spec.internal", type: "boolean", wide: true },
    { name: "Router", jsonPath: ".spec.router", wide: true },
  ],
  spec: immutable(
    z.object({
      name: z
        .string()
        .min(1)
        .max(253)
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
        .describe("The domain, in lower case."),
      internal: z.boolean().default(false).describe("Reached from inside only."),
      router: className
        .optional()
        .describe("The BackendClass that serves its routes; the default router when left out."),
      sharedOrgs: listSet(z.array(z.string().max(253)).max(1000))
        .default([])
        .describe("Object names of other orgs that may use a private domain."),
    }),
    "name",
    "internal",
  ),
  status: readyStatus({}),
});
export type Domain = Resource<typeof Domain>;
