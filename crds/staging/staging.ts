// The Staging kind: a self-contained build for one builder class. The contract between platform and builders.
import { MAX_ERROR_MESSAGE, STAGING_TIMEOUT_SECONDS } from "./staging-limits.ts";
import { z } from "zod";
import { listAtomic, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { dropletArtifact } from "../droplet/droplet.ts";
import {
  className,
  content,
  envVars,
  identity,
  inlineFiles,
  lifecycleType,
  memoryMB,
  refTo,
} from "../schema-fields.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS } from "../roles.ts";

const usedBuildpack = z.object({
  name: z.string().max(255),
  version: z.string().max(255).optional(),
  detectOutput: z.string().max(1024).optional(),
});

export const Staging = defineKind({
  group: WORKLOADS_GROUP,
  kind: "Staging",
  plural: "stagings",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "last",
  permissions: [{ verbs: READ, roles: SPACE_READERS }],
  isReadByAPI: false,
  shortNames: ["cfstaging"],
  categories: [CATEGORY],
  description: "One build, from a package to a droplet, for one builder class. Immutable.",
  columns: [
    { name: "App", jsonPath: ".spec.app.name" },
    { name: "Class", jsonPath: ".spec.class" },
    { name: "State", jsonPath: ".status.state" },
  ],
  spec: withRules(
    z.object({
      class: className.describe("The BackendClass that builds it."),
      app: identity,
      space: identity,
      org: identity,
      buildGUID: z
        .string()
        .max(63)
        .describe("GUID of the Build. Determines the path where a host droplet is built and unpacked."),
      cacheKey: z
        .string()
        .max(63)
        .regex(/^[a-z0-9]*$/)
        .optional()
        .describe("Names the cache that the build uses, beside the app's GUID. Builds with another key share nothing."),
      lifecycleType,
      package: z.object({
        type: z.enum(["bits", "docker"]),
        content: content.optional(),
        files: inlineFiles.optional().describe("Source as text instead of content: a map from path to text."),
        image: z.string().max(1024).optional(),
        imagePullSecretRef: refTo("Secret").optional(),
      }),
      buildpacks: listAtomic(
        z
          .array(
            z.object({
              name: z.string().min(1).max(1024),
              path: z.string().max(1024).optional(),
              content: content.optional().describe("An uploaded one: content in the blob store's part `buildpacks`."),
            }),
          )
          .max(100),
      ).describe("Buildpacks, in order. With detect, the builder tries them; without, all of them build."),
      detect: z.boolean().describe("Whether to detect the buildpacks that fit."),
      stack: z.string().max(255).optional(),
      env: envVars.default([]),
      memoryMB,
      diskMB: memoryMB,
      timeoutSeconds: z.int().min(1).max(86400).default(STAGING_TIMEOUT_SECONDS),
    }),
    [{ rule: "self == oldSelf", message: "a Staging never changes" }],
  ),
  status: readyStatus({
    state: z.enum(["Pending", "Running", "Succeeded", "Failed"]).optional(),
    startedAt: z.string().max(64).optional(),
    droplet: z
      .object({
        ...dropletArtifact,
        stack: z.string().max(255).optional(),
        buildpacks: listAtomic(z.array(usedBuildpack).max(100)).default([]),
      })
      .optional(),
    error: z
      .object({
        code: z.string().max(128).describe("CF error code, for example NoAppDetectedError."),
        message: z.string().max(MAX_ERROR_MESSAGE),
      })
      .optional(),
  }),
});
export type Staging = Resource<typeof Staging>;
