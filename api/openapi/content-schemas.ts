// Answers about packages, builds, droplets and what builds them.
import { z } from "zod";
import { lifecycle, lifecycleType } from "./app-schemas.ts";
import {
  flag,
  guid,
  identity,
  integer,
  link,
  links,
  metadata,
  named,
  patchLink,
  postLink,
  text,
  textMap,
  toApp,
} from "./schema-parts.ts";

const packageState = z.enum(["AWAITING_UPLOAD", "PROCESSING_UPLOAD", "READY", "FAILED", "COPYING", "EXPIRED"]);

export const package_ = named(
  "Package",
  z.strictObject({
    ...identity,
    type: z.enum(["bits", "docker"]),
    data: z.union([
      z.strictObject({
        error: text.nullable(),
        checksum: z.strictObject({ type: z.literal("sha256"), value: text.nullable() }),
      }),
      z.strictObject({ image: text, username: text.nullable(), password: text.nullable() }),
    ]),
    state: packageState,
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app"], { upload: postLink.optional(), download: link.optional() }),
  }),
);

export const build = named(
  "Build",
  z.strictObject({
    ...identity,
    state: z.enum(["STAGING", "STAGED", "FAILED"]),
    staging_memory_in_mb: integer,
    staging_disk_in_mb: integer,
    staging_log_rate_limit_bytes_per_second: integer,
    error: text.nullable(),
    lifecycle,
    package: z.strictObject({ guid: text }),
    droplet: z.strictObject({ guid }).nullable(),
    created_by: z.strictObject({ guid: text.nullable(), name: text.nullable(), email: text }),
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app"], { droplet: link.optional() }),
  }),
);

export const droplet = named(
  "Droplet",
  z.strictObject({
    ...identity,
    state: z.enum(["STAGING", "AWAITING_UPLOAD", "PROCESSING_UPLOAD", "STAGED", "COPYING", "FAILED", "EXPIRED"]),
    error: text.nullable(),
    lifecycle: z.strictObject({ type: lifecycleType, data: z.strictObject({}) }),
    checksum: z.strictObject({ type: z.enum(["sha256", "sha1"]), value: text }).nullable(),
    buildpacks: z
      .array(
        z.strictObject({
          name: text,
          detect_output: text.nullable(),
          buildpack_name: text.nullable(),
          version: text.nullable(),
        }),
      )
      .nullable(),
    stack: text.nullable(),
    image: text.nullable(),
    execution_metadata: text,
    process_types: textMap,
    relationships: z.strictObject({ app: toApp }),
    metadata,
    links: links(["self", "app"], {
      assign_current_droplet: patchLink,
      package: link.optional(),
      upload: postLink.optional(),
      download: link.optional(),
    }),
  }),
);

export const buildpack = named(
  "Buildpack",
  z.strictObject({
    ...identity,
    name: text,
    stack: text.nullable(),
    state: z.enum(["AWAITING_UPLOAD", "READY"]),
    lifecycle: z.enum(["buildpack", "cnb"]),
    filename: text.nullable(),
    position: integer.min(1),
    enabled: flag,
    locked: flag,
    metadata,
    links: links(["self"], { upload: postLink }),
  }),
);

export const stack = named(
  "Stack",
  z.strictObject({
    ...identity,
    name: text,
    description: text.nullable(),
    state: z.enum(["ACTIVE", "RESTRICTED", "DEPRECATED", "DISABLED"]),
    state_reason: text.nullable(),
    run_rootfs_image: text,
    build_rootfs_image: text,
    default: flag,
    metadata,
    links: links(["self"]),
  }),
);

export const resourceMatches = named(
  "ResourceMatches",
  z.strictObject({
    resources: z.array(
      z.strictObject({
        checksum: z.strictObject({ value: text }),
        size_in_bytes: integer,
        path: text.nullable().optional(),
        mode: text.nullable().optional(),
      }),
    ),
  }),
);
