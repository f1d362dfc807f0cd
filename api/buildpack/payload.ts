// Request bodies and queries of buildpacks, and what their fields may be together.
import { z } from "zod";
import type { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { metadataSchema } from "../http/metadata.ts";
import { csv, listQuery } from "../http/query.ts";

const name = z
  .string()
  .min(1)
  .max(250)
  .regex(/^[-\w]+$/);
const stack = z.string().max(250);
/** A larger one means the end of the list. */
const position = z
  .int()
  .min(1)
  .transform((wanted) => Math.min(wanted, 10_000));
const LIFECYCLE = 'must be either "buildpack" or "cnb"';

export const createBuildpackBody = z.strictObject({
  name,
  stack: stack.nullish(),
  position: position.nullish(),
  lifecycle: z.enum(["buildpack", "cnb"], LIFECYCLE).nullish(),
  enabled: z.boolean().nullish(),
  locked: z.boolean().nullish(),
  metadata: metadataSchema.optional(),
});
export type CreateBuildpack = z.output<typeof createBuildpackBody>;

export const updateBuildpackBody = z.strictObject({
  name: name.nullish(),
  stack: stack.nullish(),
  position: position.optional(),
  enabled: z.boolean().optional(),
  locked: z.boolean().optional(),
  metadata: metadataSchema.optional(),
});

export const buildpackListQuery = listQuery(
  { names: csv.optional(), stacks: csv.optional(), lifecycle: z.enum(["buildpack", "cnb"], LIFECYCLE).optional() },
  { orders: ["position", "lifecycle"] },
);

/** Identity of a buildpack. Without a stack it is for any. */
export type BuildpackIdentity = Pick<Buildpack["spec"], "name" | "lifecycle"> & { stack?: string | undefined };

/** CF's words when another buildpack is the same. */
export function sameBuildpackText({ name: named, stack: on, lifecycle }: BuildpackIdentity): string {
  return on === undefined
    ? `Buildpack with name '${named}' and an unassigned stack already exists`
    : `Buildpack with name '${named}', stack '${on}' and lifecycle '${lifecycle}' already exists`;
}

export function isSameBuildpack(one: BuildpackIdentity, other: BuildpackIdentity): boolean {
  return one.name === other.name && one.stack === other.stack && one.lifecycle === other.lifecycle;
}
