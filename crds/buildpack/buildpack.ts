// The Buildpack kind: a buildpack's name, position and location.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className, content } from "../schema-fields.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

/** Where the blob store keeps uploaded buildpacks, in place of a space's GUID. */
export const BUILDPACK_BLOBS = "buildpacks";

export const Buildpack = defineKind({
  group: GROUP,
  kind: "Buildpack",
  plural: "buildpacks",
  namespaced: true,
  livesIn: ["system"],
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  audit: { lifecycle: { noun: "buildpack", deletion: "delete" }, outsideWrites: "changes and deletions" },
  deletionJob: "buildpack.delete",
  shortNames: ["cfbuildpack"],
  categories: [CATEGORY],
  description: "A buildpack for apps. Detection tries the enabled buildpacks in order of position.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Position", jsonPath: ".spec.position", type: "integer" },
    { name: "Enabled", jsonPath: ".spec.enabled", type: "boolean" },
    { name: "Version", jsonPath: ".status.version" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows and that apps refer to."),
    position: z.int().min(1).max(10000).default(1).describe("Position in the order of detection; 1 is first."),
    enabled: z.boolean().default(true).describe("Whether detection tries this buildpack."),
    locked: z.boolean().default(false).describe("Whether cf refuses to replace this buildpack."),
    stack: z.string().max(255).optional().describe("The stack that it builds for. Defaults to any."),
    lifecycle: z.enum(["buildpack", "cnb"]).default("buildpack").describe("Only apps of this lifecycle may use it."),
    path: z
      .string()
      .max(1024)
      .optional()
      .describe(
        "Where nothing is uploaded. For the host builder: the absolute path of a Cloud Native Buildpack's folder, or the name of a built-in one (java, go, ruby, php, python, nodejs, staticfile, procfile, binary). With builder: the buildpack's id in the builder image.",
      ),
    builder: className
      .optional()
      .describe(
        "The builder class that has it in its image, and makes and removes this object. Only its builds use it.",
      ),
    content: content
      .optional()
      .describe("The uploaded folder of a Cloud Native Buildpack. cf create-buildpack sets it."),
    filename: z.string().max(255).optional().describe("Name of the uploaded file, which cf shows."),
  }),
  status: readyStatus({
    version: z.string().max(255).optional().describe("Version of the buildpack."),
    id: z.string().max(255).optional().describe("The id in its buildpack.toml."),
  }),
});
export type Buildpack = Resource<typeof Buildpack>;
