// The Route kind: an address and the processes that serve it.
import { z } from "zod";
import { immutable, listMap, listSet, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, APP_OPERATORS, ORG_AUDITOR_IN_SPACE } from "../roles.ts";

const destination = z.object({
  app: objectName.describe("Name of the App."),
  namespace: z
    .string()
    .max(63)
    .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/)
    .default("")
    .describe("Namespace of the App, one of sharedSpaces; empty means the Route's own."),
  process: z.string().min(1).max(255).default("web").describe("Process type."),
  port: z.int().min(0).max(65535).default(0).describe("Port of the process; 0 means its first port."),
  protocol: z.enum(["http1", "http2", "tcp"]).default("http1").describe("Protocol of the process."),
  weight: z.int().min(1).max(100).optional().describe("Share of the requests, in percent. Defaults to equal shares."),
});
export type Destination = z.output<typeof destination>;

/** Spaces beside its own that a route may be shared with. */
export const MAX_SHARED_SPACES = 100;
const spaceNamespace = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** How a route's requests are spread. */
const LOAD_BALANCING = ["round-robin", "least-connection", "hash"] as const;
export const loadBalancing = z
  .enum(LOAD_BALANCING)
  .describe(
    "round-robin: each instance in turn. least-connection: the instance with the fewest requests under way. hash: the same instance for the same value of a header.",
  );
/** A field name of HTTP (RFC 9110, 5.1). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
export const hashHeader = z
  .string()
  .min(1)
  .max(128)
  .regex(HEADER_NAME)
  .describe("Header whose value chooses the instance, with hash. Requests without it go round-robin.");
export const hashBalance = z
  .string()
  .regex(/^(0\.0|1\.[1-9]|[2-9]\.[0-9]|10\.0)$/)
  .describe(
    "How much busier than the average an instance may be before hash passes it over: 1.1 to 10.0. 0.0, the default, means no limit.",
  );

export const Route = defineKind({
  group: GROUP,
  kind: "Route",
  plural: "routes",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "first",
  permissions: [
    { verbs: READ, roles: [...SPACE_READERS, ORG_AUDITOR_IN_SPACE] },
    { verbs: WRITE, roles: APP_OPERATORS },
  ],
  fieldPermissions: [
    // It gets the requests for all hosts that nobody has: an admin's, as in CF.
    { subresource: "wildcard", fields: ["sharedWildcard"] },
  ],
  audit: { outsideWrites: "changes and deletions" },
  deletionJob: "route.delete",
  shortNames: ["cfroute"],
  categories: [CATEGORY],
  description: "An address (host, domain, path) and the app processes that serve it.",
  columns: [
    { name: "URL", jsonPath: ".status.url" },
    { name: "App", jsonPath: ".spec.destinations[0].app" },
  ],
  // Host, path, port and domain identify a route in CF, so none of them can change.
  spec: immutable(
    z.object({
      host: z
        .string()
        .max(63)
        .regex(/^(|\*|[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)$/)
        .default("")
        .describe(
          "Leftmost label of the hostname, shown in the case given here and compared without case; * for a wildcard; empty for the domain itself.",
        ),
      path: z
        .string()
        .max(128)
        .regex(/^(|\/[^?\s\p{Cc}]+)$/u)
        .default("")
        .describe("Path prefix that starts with /; empty for all paths."),
      port: z.int().min(0).max(65535).default(0).describe("Port of a TCP route; 0 for HTTP."),
      domainRef: refTo("Domain").describe("A Domain of this org, or a shared one."),
      destinations: listMap(z.array(destination).max(100), ["app", "namespace", "process", "port"])
        .default([])
        .describe("Processes that serve the route. Without any, the route exists but is not served."),
      sharedSpaces: listSet(z.array(spaceNamespace).max(MAX_SHARED_SPACES))
        .optional()
        .describe("Namespaces of other spaces whose apps may serve the route, too."),
      sharedWildcard: z
        .boolean()
        .optional()
        .describe(
          "Whether it may take all free hosts of a shared domain, with host *. Needs the right to update routes/wildcard.",
        ),
      options: withRules(
        z.object({
          loadbalancing: loadBalancing.optional(),
          hashHeader: hashHeader.optional(),
          hashBalance: hashBalance.optional(),
        }),
        [
          {
            rule: "!has(self.loadbalancing) || self.loadbalancing != 'hash' || has(self.hashHeader)",
            message: "loadbalancing hash needs a hashHeader",
          },
          {
            rule: "(has(self.loadbalancing) && self.loadbalancing == 'hash') || !(has(self.hashHeader) || has(self.hashBalance))",
            message: "hashHeader and hashBalance need loadbalancing hash",
          },
        ],
      )
        .optional()
        .describe("Options of CF routes. Defaults to round-robin."),
    }),
    "host",
    "path",
    "port",
    "domainRef",
  ),
  status: readyStatus({
    url: z.string().max(512).optional().describe("URL of the route: host.domain/path, without scheme."),
  }),
});
export type Route = Resource<typeof Route>;
export type RouteOptions = NonNullable<Route["spec"]["options"]>;
