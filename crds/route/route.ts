// What a Route is: an address, and the processes that answer there.
import { z } from "zod";
import { defineResource, immutable, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

const destination = z.object({
  app: objectName.describe("Name of the App."),
  process: z.string().min(1).max(255).default("web").describe("Process type."),
  port: z.int().min(0).max(65535).default(0).describe("Port of the process; 0: its first one."),
  protocol: z.enum(["http1", "http2", "tcp"]).default("http1").describe("What the process speaks."),
  weight: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe("Its part of the requests, in percent; equal parts when left out."),
});
export type Destination = z.output<typeof destination>;

export const Route = defineResource({
  group: GROUP,
  kind: "Route",
  plural: "routes",
  namespaced: true,
  shortNames: ["cfroute"],
  categories: [CATEGORY],
  description: "An address (host, domain, path) and the processes of apps that answer there.",
  columns: [
    { name: "URL", jsonPath: ".status.url" },
    { name: "App", jsonPath: ".spec.destinations[0].app" },
  ],
  // CF tells a route by host, path, port and domain, so none of them changes after creation.
  spec: immutable(
    z.object({
      host: z
        .string()
        .max(63)
        .regex(/^(|\*|[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)$/)
        .default("")
        .describe(
          "Left-most label, shown in the case given here and compared without case; * for a wildcard; empty for the domain itself.",
        ),
      path: z
        .string()
        .max(128)
        .regex(/^(|\/[^?\s\p{Cc}]+)$/u)
        .default("")
        .describe("Starts with /; empty for all paths."),
      port: z.int().min(0).max(65535).default(0).describe("Port of a TCP route; 0 for HTTP."),
      domainRef: refTo("Domain").describe("A Domain of this org or a shared one."),
      destinations: listMap(z.array(destination).max(100), ["app", "process", "port"])
        .default([])
        .describe("Who answers. Without any the route is kept but not served."),
    }),
    "host",
    "path",
    "port",
    "domainRef",
  ),
  status: readyStatus({ url: z.string().max(512).optional().describe("host.domain/path, without scheme.") }),
});
export type Route = Resource<typeof Route>;
