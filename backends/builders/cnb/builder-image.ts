// A builder image's config: user, lifecycle, run image, buildpacks. Pure.
import { z } from "zod";
import type { ImageConfig } from "../registry-images.ts";
import { StagingFailure } from "../staging-failure.ts";

export interface BuilderImage {
  uid: number;
  gid: number;
  /** The Platform API version that we use with its lifecycle. */
  platformAPI: string;
  runImage: string | undefined;
  stack: string | undefined;
  /** Versions of each buildpack, by id. */
  buildpacks: ReadonlyMap<string, readonly string[]>;
  /** The groups that detection tries, in order. Empty when the image does not say. */
  order: readonly OrderGroup[];
}

/** A buildpack in a group of an order. */
export interface OrderEntry {
  id: string;
  version?: string | undefined;
  optional?: boolean | undefined;
}

/** Buildpacks that build together. */
export type OrderGroup = readonly OrderEntry[];

/** Platform API versions that this class speaks, the preferred one first. 0.12 is the oldest that reads run.toml. */
export const PLATFORM_APIS = ["0.14", "0.13", "0.12"] as const;

const builderMetadata = z.object({
  stack: z
    .object({ runImage: z.object({ image: z.string() }).partial() })
    .partial()
    .optional(),
  images: z.array(z.object({ image: z.string() })).optional(),
  lifecycle: z.object({ apis: z.unknown() }).partial().optional(),
});
const supportedAPIs = z.object({ platform: z.object({ supported: z.array(z.string()) }) });
const orderLabel = z.array(
  z.object({
    group: z.array(z.object({ id: z.string(), version: z.string().optional(), optional: z.boolean().optional() })),
  }),
);
const buildpackLayers = z.record(z.string(), z.record(z.string(), z.unknown()));

/** @throws StagingFailure that says why the image is no builder that this class can use */
export function toBuilderImage({ env, labels }: Pick<ImageConfig, "env" | "labels">): BuilderImage {
  const metadata = parseLabel(labels, "io.buildpacks.builder.metadata", builderMetadata);
  if (!metadata)
    throw unusable("it has no label io.buildpacks.builder.metadata, so it is no Cloud Native Buildpacks builder");
  const [uid, gid] = [readId(env, "CNB_USER_ID"), readId(env, "CNB_GROUP_ID")];
  return {
    uid,
    gid,
    platformAPI: choosePlatformAPI(labels, metadata.lifecycle?.apis),
    runImage: metadata.images?.[0]?.image ?? metadata.stack?.runImage?.image,
    stack: labels["io.buildpacks.stack.id"],
    buildpacks: readBuildpacks(labels),
    order: (parseLabel(labels, "io.buildpacks.buildpack.order", orderLabel) ?? []).map(({ group }) => group),
  };
}

function readBuildpacks(labels: ImageConfig["labels"]): Map<string, string[]> {
  const layers = parseLabel(labels, "io.buildpacks.buildpack.layers", buildpackLayers) ?? {};
  return new Map(Object.entries(layers).map(([id, versions]) => [id, Object.keys(versions)]));
}

function choosePlatformAPI(labels: ImageConfig["labels"], inMetadata: unknown): string {
  const stated =
    parseLabel(labels, "io.buildpacks.lifecycle.apis", supportedAPIs) ?? supportedAPIs.safeParse(inMetadata).data;
  const supported = stated?.platform.supported ?? [];
  const chosen = PLATFORM_APIS.find((version) => supported.includes(version));
  if (chosen === undefined)
    throw unusable(
      `its lifecycle supports Platform API ${supported.join(", ") || "(none stated)"}, and this builder speaks ${PLATFORM_APIS.join(", ")}; use a newer builder image`,
    );
  return chosen;
}

/** Builds run as the image's own user. Root is refused: Pod Security `restricted` does so too. */
function readId(env: readonly string[], name: string): number {
  const text = env.find((variable) => variable.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
  const id = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (id === 0)
    throw unusable(`its environment sets ${name} to ${JSON.stringify(text)}, and a build needs a number above 0`);
  return id;
}

function parseLabel<T>(labels: ImageConfig["labels"], name: string, schema: z.ZodType<T>): T | undefined {
  const text = labels[name];
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw unusable(`its label ${name} is not in the format of the specification`, cause);
  }
}

function unusable(why: string, cause?: unknown): StagingFailure {
  return new StagingFailure("StagingError", `the builder image cannot be used: ${why}`, { cause });
}
