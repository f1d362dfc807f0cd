// What a Build is: one attempt to turn a Package into a Droplet.
import { z } from "zod";
import { defineResource, immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className, lifecycleType, memoryMB, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Build = defineResource({
  group: GROUP,
  kind: "Build",
  plural: "builds",
  namespaced: true,
  shortNames: ["cfbuild"],
  categories: [CATEGORY],
  description:
    "One attempt to build a package. It ends Staged, with a droplet of the same name, or Failed, with the reason.",
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
          type: lifecycleType.describe("As App.spec.lifecycle.type."),
          buildpacks: z
            .array(z.string().min(1).max(1024))
            .max(50)
            .default([])
            .meta({ "x-kubernetes-list-type": "atomic" })
            .describe("Buildpacks by name, in order; detected when empty."),
          stack: z.string().max(255).optional().describe("The stack to build on."),
        })
        .optional()
        .describe("The app's own lifecycle when left out."),
      memoryMB: memoryMB.default(1024).describe("Memory for staging, in MB."),
      diskMB: memoryMB.default(4096).describe("Disk for staging, in MB."),
      builder: className
        .optional()
        .describe("The BackendClass that builds; the app's, else the default, when left out."),
      createdBy: z
        .object({ guid: z.string().max(255), name: z.string().max(255) })
        .optional()
        .describe("Who asked for the build, as cf shows it."),
    }),
    "appRef",
    "packageRef",
    "lifecycle",
    "memoryMB",
    "diskMB",
    "builder",
  ),
  status: readyStatus({
    state: z.enum(["Staging", "Staged", "Failed"]).optional().describe("How far it is."),
    droplet: z.string().max(253).optional().describe("The Droplet it made."),
    error: z
      .object({
        code: z.string().max(128).describe("CF's code."),
        message: z.string().max(4096).describe("For people."),
      })
      .optional()
      .describe("Why it failed."),
  }),
});
export type Build = Resource<typeof Build>;
