// The RouteBinding kind: a self-contained route for one router class. The contract between platform and routers.
import { z } from "zod";
import { immutable, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { hashBalance, hashHeader, loadBalancing } from "../route/route.ts";
import { className, identity, objectName, port } from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS } from "../roles.ts";

const destination = z.object({
  appGUID: z.string().max(63),
  app: objectName.describe("Object name of the App."),
  namespace: z
    .string()
    .max(63)
    .optional()
    .describe("Namespace of the App, where it is in another space than the route."),
  processType: z.string().min(1).max(255),
  port: port.describe("Port of the process."),
  protocol: z.enum(["http1", "http2", "tcp"]).default("http1"),
  weight: z.int().min(1).max(100).optional(),
});

export const RouteBinding = defineKind({
  group: WORKLOADS_GROUP,
  kind: "RouteBinding",
  plural: "routebindings",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "last",
  permissions: [{ verbs: READ, roles: SPACE_READERS }],
  isReadByAPI: false,
  shortNames: ["cfroutebinding"],
  categories: [CATEGORY],
  description:
    "A route for one router class: its address and the processes that serve it. Routers find instances by the labels app-guid and process-type.",
  columns: [
    { name: "Host", jsonPath: ".spec.hostname" },
    { name: "Path", jsonPath: ".spec.path" },
    { name: "Class", jsonPath: ".spec.class" },
  ],
  spec: immutable(
    z.object({
      class: className.describe("The BackendClass that serves it."),
      routeGUID: z.string().max(63),
      space: identity,
      org: identity,
      hostname: z
        .string()
        .min(1)
        .max(253)
        .describe("host.domain, *.domain for a wildcard, or the domain alone for an empty host."),
      path: z.string().max(128).default(""),
      port: z.int().min(0).max(65535).default(0).describe("TCP port; 0 for HTTP."),
      internal: z.boolean().default(false),
      destinations: listMap(z.array(destination).max(100), ["appGUID", "processType", "port"]).default([]),
      loadBalancing: loadBalancing.optional(),
      hashHeader: hashHeader.optional(),
      hashBalance: hashBalance.optional(),
      routeService: z
        .object({ url: z.string().min(1).max(2048) })
        .optional()
        .describe("A route service, which gets the requests first and sends them back."),
    }),
    "routeGUID",
    "hostname",
    "path",
    "port",
  ),
  status: readyStatus({}),
});
export type RouteBinding = Resource<typeof RouteBinding>;
