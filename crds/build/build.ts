// The Build kind: one attempt to turn a Package into a Droplet.
import { DEFAULT_MEMORY_MB } from "../process/defaults.ts";
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className, lifecycleType, memoryMB, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER, SPACE_SUPPORTER } from "../roles.ts";

export const Build = defineKind({
  group: GROUP,
  kind: "Build",
  plural: "builds",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "early",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { verbs: ["create"], roles: [SPACE_SUPPORTER] },
  ],
  audit: { outsideWrites: "changes" },
  shortNames: ["cfbuild"],
  categories: [CATEGORY],
  description:
    "One attempt to build a package. It ends as Staged, with a Droplet of the same name, or as Failed, with an error.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Package", jsonPath: ".spec.packageRef.name", wide: true },
    { name: "State", jsonPath: ".status.state" },
    { name: "Droplet", jsonPath: ".status.droplet" },
  ],
  spec: immutable(
    z.object({
      appRef: refTo("App"),
      packageRef: refTo("Package"),
      lifecycle: z
        .object({
          type: lifecycleType.describe("See App.spec.lifecycle.type."),
          buildpacks: z
            .array(z.string().min(1).max(1024))
            .max(50)
            .default([])
            .meta({ "x-kubernetes-list-type": "atomic" })
            .describe("Names of buildpacks, in order. Empty: detected."),
          stack: z.string().max(255).optional().describe("The stack to build on."),
        })
        .optional()
        .describe("How to build. Defaults to the app's lifecycle."),
      memoryMB: memoryMB.default(DEFAULT_MEMORY_MB).describe("Memory for staging, in MB."),
      diskMB: memoryMB.default(4096).describe("Disk for staging, in MB."),
      builder: className
        .optional()
        .describe("The BackendClass that builds. Defaults to the app's builder, else to the default one."),
      createdBy: z
        .object({ guid: z.string().max(255), name: z.string().max(255) })
        .optional()
        .describe("The user who requested the build, as cf shows it."),
    }),
    "appRef",
    "packageRef",
    "lifecycle",
    "memoryMB",
    "diskMB",
    "builder",
  ),
  status: readyStatus({
    state: z.enum(["Staging", "Staged", "Failed"]).optional().describe("Progress of the build."),
    droplet: z.string().max(253).optional().describe("The Droplet that the build produced."),
    error: z
      .object({
        code: z.string().max(128).describe("CF error code, for example NoAppDetectedError."),
        message: z.string().max(4096).describe("Error message."),
      })
      .optional()
      .describe("Why the build failed."),
  }),
});
export type Build = Resource<typeof Build>;
