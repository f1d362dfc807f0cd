// Whether a build can be a rebase: the app's last image with another run image below its layers, since nothing else has changed. Pure.
import { createHash } from "node:crypto";
import { stringify } from "smol-toml";
import { z } from "zod";
import type { Staging } from "../../../../crds/staging/staging.ts";
import type { ImageConfig, InspectedImage } from "../../registry-images.ts";
import type { PlacedGroup } from "../placed-buildpacks.ts";

export interface BuildInputs {
  spec: Pick<Staging["spec"], "env" | "cacheKey" | "lifecycleType" | "stack">;
  /** Digest of the package's content. */
  content: string;
  /** The builder image by digest. */
  builderImage: string;
  /** The order of the detector; undefined for the image's own. */
  order: string | undefined;
}

/** A digest of all that a build is made of, the run image apart. Values of Secrets count by the Secret's name, which is a keyed digest of them. */
export function digestInputs({ spec, content, builderImage, order }: BuildInputs): string {
  const { env, cacheKey, lifecycleType, stack } = spec;
  const variables = env.map((variable) => [variable.name, toComparable(variable)]);
  const text = JSON.stringify([content, builderImage, order, lifecycleType, stack, cacheKey, variables]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

type Variable = BuildInputs["spec"]["env"][number];

/** VCAP_APPLICATION holds a version that is new in each build. */
function toComparable({ name, value, valueFrom }: Variable): unknown {
  if (name !== "VCAP_APPLICATION" || value === undefined) return valueFrom ?? value;
  const application = parseObject(value);
  return application ? { ...application, version: undefined, application_version: undefined } : value;
}

/** Users of `kubectl` may write any text. */
function parseObject(text: string): Record<string, unknown> | undefined {
  return parseOrUndefined(text, z.record(z.string(), z.unknown()));
}

/** Whether the same order is the same buildpacks in the next build: behind the tag of a buildpack's image may be another one by then. */
export function isPinned(order: readonly PlacedGroup[]): boolean {
  return order.flat().every((entry) => !("image" in entry) || entry.image.includes("@sha256:"));
}

const SOURCE_TYPE = "cupola";

/** Content that the exporter puts into the label io.buildpacks.project.metadata, as the file that it reads. */
export function toProjectMetadata(inputs: string): string {
  return stringify({ source: { type: SOURCE_TYPE, version: { inputs } } });
}

const projectMetadata = z.object({
  source: z.object({ type: z.literal(SOURCE_TYPE), version: z.object({ inputs: z.string() }) }),
});
const names = { image: z.string().optional(), mirrors: z.array(z.string()).nullish() };
const lifecycleMetadata = z.object({
  runImage: z.object({ topLayer: z.string(), ...names }),
  stack: z.object({ runImage: z.object(names).optional() }).nullish(),
});

/** Whether the image was made of these inputs. */
export function isMadeOf({ labels }: Pick<ImageConfig, "labels">, inputs: string): boolean {
  return parseOrUndefined(labels["io.buildpacks.project.metadata"], projectMetadata)?.source.version.inputs === inputs;
}

export interface RebasePlan {
  /** The app's last image, by digest. */
  previousImage: string;
  /** The image does not name this run image among its own, so that the lifecycle wants to be told twice. */
  force: boolean;
}

/**
 * @param last the app's last image, made of the same inputs. @param runImage the run image of now, by the name that the builder has for it.
 * Undefined when a build is needed: the run image is the same, it may be of another system, or one of the images is not made for it.
 */
export function planRebase(
  last: InspectedImage,
  runImage: { name: string; config: Omit<ImageConfig, "env"> },
): RebasePlan | undefined {
  const { labels, layers } = last.config;
  const metadata = parseOrUndefined(labels["io.buildpacks.lifecycle.metadata"], lifecycleMetadata);
  if (!metadata || labels["io.buildpacks.rebasable"] === "false") return undefined;
  const base = layers.slice(0, layers.indexOf(metadata.runImage.topLayer) + 1);
  if (base.length === 0 || isSame(base, runImage.config.layers)) return undefined;
  const areComplete = hasFullHistory(last.config) && hasFullHistory(runImage.config);
  if (!areComplete || !isSameSystem(runImage.config, last.config)) return undefined;
  return { previousImage: last.reference, force: !listNames(metadata).includes(runImage.name) };
}

/** Where an image's history leaves layers out, the lifecycle's rebaser repeats a layer in their place (go-containerregistry, mutate.Rebase). */
function hasFullHistory({ layers, layersInHistory }: Pick<ImageConfig, "layers" | "layersInHistory">): boolean {
  return layersInHistory === layers.length;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((layer, at) => layer === b[at]);
}

/** Facts that a build may have chosen by: buildpacks install other programs for another distribution. */
const NAME_LABELS = ["io.buildpacks.stack.id", "io.buildpacks.base.distro.name"];
const SYSTEM_LABELS = [...NAME_LABELS, "io.buildpacks.base.distro.version"];

type System = Pick<ImageConfig, "labels" | "platform">;

/** Images that name no system can be of any two. */
function isSameSystem(a: System, b: System): boolean {
  const isNamed = NAME_LABELS.some((name) => a.labels[name]);
  return isNamed && a.platform === b.platform && SYSTEM_LABELS.every((name) => a.labels[name] === b.labels[name]);
}

/** The names by which the image knows run images that may take the place of its own. */
function listNames({ runImage, stack }: z.output<typeof lifecycleMetadata>): string[] {
  return [runImage, stack?.runImage].flatMap((one) => [one?.image ?? [], one?.mirrors ?? []].flat());
}

function parseOrUndefined<T>(text: string | undefined, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text ?? "null")).data;
  } catch {
    return undefined;
  }
}
