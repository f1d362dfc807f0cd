// The Package kind: source bits, or the name of an image, that a Build turns into a Droplet.
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { content, inlineFiles, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER } from "../roles.ts";

export const Package = defineKind({
  group: GROUP,
  kind: "Package",
  plural: "packages",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { subresource: "content", verbs: ["get", "update"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [{ subresource: "content", fields: ["content", "files"] }],
  audit: { outsideWrites: "changes" },
  deletionJob: "package.delete",
  shortNames: ["cfpackage"],
  categories: [CATEGORY],
  description: "Source bits of an app, or the name of an image. A Build turns a Package into a Droplet.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Type", jsonPath: ".spec.type" },
    { name: "State", jsonPath: ".status.state" },
  ],
  spec: immutable(
    z.object({
      appRef: refTo("App"),
      type: z.enum(["bits", "docker"]).describe("bits: uploaded source. docker: an image."),
      image: z.string().min(1).max(1024).optional().describe("Image reference, for type docker."),
      username: z
        .string()
        .max(255)
        .optional()
        .describe("The user at the image's registry, which cf shows. It gives no access: imagePullSecretRef does."),
      imagePullSecretRef: refTo("Secret")
        .optional()
        .describe("Credentials for the image's registry: a Secret of type kubernetes.io/dockerconfigjson."),
      content: content.optional().describe("The uploaded bits. The upload sets it, once."),
      files: inlineFiles
        .optional()
        .describe(
          "Small sources as text instead of an upload: a map from path to content. Ignored once content is set.",
        ),
    }),
    "appRef",
    "type",
    "image",
    "files",
  ),
  status: readyStatus({
    state: z
      .enum(["AwaitingUpload", "ProcessingUpload", "Ready", "Failed", "Expired"])
      .optional()
      .describe("Progress of the upload. Only a Ready package can be built."),
    error: z.string().max(4096).optional().describe("Why the upload failed."),
  }),
});
export type Package = Resource<typeof Package>;
