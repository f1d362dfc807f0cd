// The Domain kind: the domain part of routes. Shared ones are in the system namespace, private ones in their org's namespace.
import { z } from "zod";
import { immutable, listSet, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { className } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, ORG_MANAGER, ORG_AUDITOR, SYSTEM_READER } from "../roles.ts";

/** The last label of an IP address is a number, and that of no DNS name is. A pattern for RegExp and CEL. */
export const NUMERIC_END = "[.][0-9]+$";
export const NOT_AN_ADDRESS = "must be a DNS name, not an IP address";

/** Orgs that may use a private domain. */
export const MAX_SHARED_ORGS = 1000;

export const Domain = defineKind({
  group: GROUP,
  kind: "Domain",
  plural: "domains",
  namespaced: true,
  livesIn: ["org", "system"],
  permissions: [
    { verbs: [...READ, ...WRITE], roles: [ORG_MANAGER] },
    { verbs: READ, roles: [ORG_AUDITOR, SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] },
  ],
  deletionJob: "domain.delete",
  shortNames: ["cfdomain"],
  categories: [CATEGORY],
  description:
    "A DNS domain for routes. A Domain in the system namespace is shared by all orgs; one in an org's namespace is private to that org.",
  columns: [
    { name: "Domain", jsonPath: ".spec.name" },
    { name: "Internal", jsonPath: ".spec.internal", type: "boolean", wide: true },
    { name: "Router", jsonPath: ".spec.router", wide: true },
  ],
  rules: [
    {
      rule: "!has(self.spec.protocols) || !('tcp' in self.spec.protocols) || (has(self.spec.router) && !(has(self.spec.internal) && self.spec.internal))",
      message: "a domain with protocols tcp names its router, and is not internal",
    },
    {
      rule: "!has(self.spec.protocols) || !('tcp' in self.spec.protocols) || (has(self.spec.router) && has(oldSelf.spec.router) && self.spec.router == oldSelf.spec.router)",
      message: "the router of a domain with protocols tcp is immutable: its routes hold ports there",
    },
    {
      rule: "!has(self.spec.routePolicies) || !((has(self.spec.internal) && self.spec.internal) || (has(self.spec.protocols) && 'tcp' in self.spec.protocols))",
      message: "a domain with routePolicies is for HTTP, and not internal",
    },
  ],
  spec: immutable(
    z.object({
      name: withRules(
        z
          .string()
          .min(1)
          .max(253)
          .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/)
          .describe("DNS name, in lower case, of at least two labels, the last with a letter."),
        [{ rule: `!self.matches('${NUMERIC_END}')`, message: NOT_AN_ADDRESS }],
      ),
      internal: z.boolean().default(false).describe("Whether its routes are reachable only from inside the platform."),
      router: className.optional().describe("The BackendClass that serves its routes. Defaults to the default router."),
      protocols: listSet(
        z
          .array(z.enum(["http", "tcp"]))
          .min(1)
          .max(1),
      )
        .optional()
        .describe("tcp: its routes have a port of the router instead of a host and a path. Defaults to http."),
      routePolicies: z
        .object({ scope: z.enum(["any", "org", "space"]).describe("The widest source that a RoutePolicy may name.") })
        .optional()
        .describe(
          "Only apps that RoutePolicies name may call its routes. No router here knows which app calls, so its routes are not served.",
        ),
      sharedOrgs: listSet(z.array(z.string().max(253)).max(MAX_SHARED_ORGS))
        .default([])
        .describe("Object names of other orgs that may use this private domain."),
    }),
    "name",
    "internal",
    "protocols",
    "routePolicies",
  ),
  status: readyStatus({}),
});
export type Domain = Resource<typeof Domain>;
