// The Droplet kind: a runnable artifact. A Build makes it, or a user with the permission to ("bring your own build").
import { z } from "zod";
import { immutable, listAtomic, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { content, lifecycleType, port, processTypes, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { sidecars } from "../sidecar.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import {
  GLOBAL_AUDITOR_CLUSTER_ROLE,
  ORG_MANAGER_IN_SPACE,
  SPACE_READERS,
  SPACE_DEVELOPER,
  SPACE_MANAGER,
  SPACE_AUDITOR,
} from "../roles.ts";

const detectedBuildpack = z.object({
  name: z.string().max(255).describe("The buildpack's name in cf."),
  version: z.string().max(255).optional().describe("Version of the buildpack."),
  detectOutput: z.string().max(1024).optional().describe("Output of detection."),
  buildpackName: z.string().max(255).optional().describe("The name that the buildpack reports."),
});

/** Forms of a droplet that a builder produces and a runner accepts. A runner's capabilities list the kinds it accepts. */
export const dropletArtifact = {
  kind: z
    .enum(["host", "cnb", "docker"])
    .describe(
      "host: a layer that is unpacked at `root`. cnb: an image built by the Cloud Native Buildpacks lifecycle. docker: any image.",
    ),
  image: z.string().min(1).max(1024).optional().describe("Image reference, for cnb and docker."),
  imagePullSecretRef: refTo("Secret").optional(),
  content: content.optional().describe("The layer, for host droplets."),
  root: z
    .string()
    .max(1024)
    .optional()
    .describe(
      "The absolute path where a host layer was built and must be unpacked. Without one the platform makes an image of the layer.",
    ),
  processTypes: processTypes.default({}).describe("Process types and their start commands."),
  ports: listAtomic(z.array(port).max(10)).optional().describe("Ports that the image exposes."),
};

export const Droplet = defineKind({
  group: GROUP,
  kind: "Droplet",
  plural: "droplets",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { subresource: "content", verbs: ["get", "update"], roles: [SPACE_DEVELOPER] },
    {
      subresource: "content",
      verbs: ["get"],
      roles: [SPACE_MANAGER, SPACE_AUDITOR, ORG_MANAGER_IN_SPACE, GLOBAL_AUDITOR_CLUSTER_ROLE],
    },
  ],
  audit: { outsideWrites: "changes" },
  deletionJob: "droplet.delete",
  shortNames: ["cfdroplet"],
  categories: [CATEGORY],
  description: "A runnable artifact: an image, or a layer for the host runner, with its process types.",
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
        lifecycleType: lifecycleType.default("buildpack").describe("The lifecycle that built it."),
        stack: z.string().max(255).optional().describe("The stack that it was built on."),
        buildpacks: listAtomic(z.array(detectedBuildpack).max(50))
          .default([])
          .describe("The buildpacks that built it."),
        ...dropletArtifact,
        sidecars: sidecars.optional().describe("Sidecars that its buildpacks give the app."),
      }),
      "appRef",
      "kind",
      "image",
    ),
    [
      {
        rule: "self.kind == 'host' ? has(self.content) || !has(self.root) : has(self.image)",
        message:
          "a host droplet needs content, with a root where it is unpacked, or neither until they are uploaded; any other an image",
      },
      {
        rule: "!has(oldSelf.content) || (has(self.content) && self.content == oldSelf.content)",
        message: "content is immutable once it is set",
      },
      {
        rule: "!has(oldSelf.root) || (has(self.root) && self.root == oldSelf.root)",
        message: "root is immutable once it is set",
      },
      {
        rule: "!has(oldSelf.content) || has(self.root) == has(oldSelf.root)",
        message: "root is set together with content, or never",
      },
    ],
  ),
  status: readyStatus({
    state: z
      .enum(["AwaitingUpload", "Staged", "Failed", "Expired"])
      .optional()
      .describe("Only a Staged droplet can run."),
    image: z.string().max(1024).optional().describe("The image that the platform made of content without a root."),
    imagePullSecretRef: refTo("Secret").optional(),
  }),
});
export type Droplet = Resource<typeof Droplet>;
