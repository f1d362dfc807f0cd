// What a BackendClass is: a builder, runner or router that resources choose by name, and what it can do.
import { z } from "zod";
import { defineResource, immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { refTo } from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";

export const BackendClass = defineResource({
  group: WORKLOADS_GROUP,
  kind: "BackendClass",
  plural: "backendclasses",
  namespaced: false,
  shortNames: ["cfclass"],
  categories: [CATEGORY],
  description:
    "A builder, runner or router by name. App.spec.builder, Process.spec.runner and Domain.spec.router choose one.",
  columns: [
    { name: "Role", jsonPath: ".spec.role" },
    { name: "Default", jsonPath: ".spec.default", type: "boolean" },
  ],
  spec: immutable(
    z.object({
      role: z.enum(["builder", "runner", "router"]),
      default: z
        .boolean()
        .default(false)
        .describe("Used where nothing names a class of this role. Needs no mark where the role has only one class."),
      parameters: z
        .record(z.string().max(63), z.string().max(1024))
        .meta({ maxProperties: 50 })
        .optional()
        .describe("Settings of the class; docs/backends.md lists them."),
    }),
    "role",
  ),
  status: readyStatus({
    capabilities: z
      .record(z.string().max(63), z.string().max(1024))
      .meta({ maxProperties: 50 })
      .optional()
      .describe("What the class can do, for example dropletKinds: host."),
    endpoint: z
      .object({
        url: z.string().max(1024).describe("Where logs and instance stats of this class are read."),
        secretRef: refTo("Secret")
          .optional()
          .describe(
            "Secret in the system namespace. What opens the URL is derived from its key token, for this address alone; docs/backends.md says how.",
          ),
      })
      .optional(),
  }),
});
export type BackendClass = Resource<typeof BackendClass>;
