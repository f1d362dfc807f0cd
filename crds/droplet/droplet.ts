// What a Droplet is: something that can run. A Build makes it, or anyone who may: "bring your own build".
import { z } from "zod";
import {
  defineResource,
  immutable,
  listAtomic,
  readyStatus,
  withRules,
  type Resource,
} from "../../kube/api/resource.ts";
import { content, lifecycleType, port, processTypes, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

const detectedBuildpack = z.object({
  name: z.string().max(255).describe("The buildpack, as cf names it."),
  version: z.string().max(255).optional().describe("Its version."),
  detectOutput: z.string().max(1024).optional().describe("What its detection said."),
  buildpackName: z.string().max(255).optional().describe("The name that it gives itself."),
});

/** What a builder makes and a runner takes; a runner's capability record says which kinds it takes. */
export const dropletArtifact = {
  kind: z
    .enum(["host", "cnb", "docker"])
    .describe("host: a layer unpacked at `root`. cnb: an image from the lifecycle. docker: any image."),
  image: z.string().min(1).max(1024).optional().describe("The image, for cnb and docker."),
  imagePullSecretRef: refTo("Secret").optional(),
  content: content.optional().describe("The layer, for host."),
  root: z
    .string()
    .max(1024)
    .optional()
    .describe("The absolute path where a host layer was built and must be unpacked."),
  processTypes: processTypes.default({}).describe("Process types and their start commands."),
  ports: listAtomic(z.array(port).max(10)).optional().describe("Ports that the image exposes."),
};

export const Droplet = defineResource({
  group: GROUP,
  kind: "Droplet",
  plural: "droplets",
  namespaced: true,
  shortNames: ["cfdroplet"],
  categories: [CATEGORY],
  description: "Something that can run: an image, or a layer for the host runner, with its process types.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Kind", jsonPath: ".spec.kind" },
    { name: "Image", jsonPath: ".spec.image", wide: true },
  ],
  spec: withRules(
    immutable(
      z.object({
        appRef: refTo("App"),
        buildRef: refTo("Build").optional(),
        packageRef: refTo("Package").optional(),
        lifecycleType: lifecycleType.default("buildpack").describe("The lifecycle that made it."),
        stack: z.string().max(255).optional().describe("The stack that it was built on."),
        buildpacks: listAtomic(z.array(detectedBuildpack).max(50)).default([]).describe("The buildpacks that made it."),
        ...dropletArtifact,
      }),
      "appRef",
      "kind",
      "image",
      "content",
      "root",
    ),
    [
      {
        rule: "self.kind == 'host' ? has(self.content) && has(self.root) : has(self.image)",
        message: "a host droplet needs content and root, any other an image",
      },
    ],
  ),
  status: readyStatus({ state: z.enum(["Staged", "Failed", "Expired"]).optional().describe("Staged can run.") }),
});
export type Droplet = Resource<typeof Droplet>;
