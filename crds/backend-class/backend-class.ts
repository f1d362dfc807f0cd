// The BackendClass kind: a builder, runner or router that resources choose by name, with its capabilities.
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { refTo } from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, CLUSTER_READER } from "../roles.ts";

export const BackendClass = defineKind({
  group: WORKLOADS_GROUP,
  kind: "BackendClass",
  plural: "backendclasses",
  namespaced: false,
  permissions: [{ verbs: READ, roles: [CLUSTER_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfclass"],
  categories: [CATEGORY],
  description:
    "A named builder, runner, runner of tasks or router. App.spec.builder, Process.spec.runner and Domain.spec.router choose one.",
  columns: [
    { name: "Role", jsonPath: ".spec.role" },
    { name: "Default", jsonPath: ".spec.default", type: "boolean" },
  ],
  spec: immutable(
    z.object({
      role: z.enum(["builder", "runner", "task-runner", "router"]),
      default: z
        .boolean()
        .default(false)
        .describe(
          "Whether resources that name no class of this role use this one. The only class of a role is its default without this.",
        ),
      buildCache: z
        .string()
        .max(63)
        .optional()
        .describe("For a builder: a new value makes every app's next build start without what earlier builds kept."),
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
      .describe("Capabilities of the class, for example dropletKinds: host."),
    endpoint: z
      .object({
        url: z.string().max(1024).describe("URL that serves the logs and instance stats of this class."),
        secretRef: refTo("Secret")
          .optional()
          .describe(
            "Secret in the system namespace. The credential for the URL is derived from its key token, for this URL only; see docs/workload-contract.md.",
          ),
      })
      .optional(),
  }),
});
export type BackendClass = Resource<typeof BackendClass>;
