// Runs in the first container of a build: puts uploaded and fetched buildpacks beside links to those of the builder image, and writes the order of all.
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { parse } from "smol-toml";
import { z } from "zod";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import { withBuildpackImage, type ImageBuildpack } from "../buildpack-image.ts";
import { unpackUploaded } from "../uploaded-buildpack.ts";
import {
  isBrought,
  parsePlacedFile,
  toBuildpackPath,
  toImagePath,
  toOrderToml,
  type BroughtEntry,
} from "./placed-buildpacks.ts";

export interface PlaceOptions {
  /** Path of the file that says which buildpacks. */
  file: string;
  /** An empty folder that the detector and the builder get. */
  to: string;
  /** The content of an uploaded buildpack. */
  open(digest: string): Promise<Readable>;
  /** The most that one may unpack to. */
  maxBytes: number;
  insecureHosts: readonly string[];
}

/** In the folder of the buildpacks. */
export const ORDER_FILE = "order.toml";

const descriptor = z.object({ buildpack: z.object({ id: z.string(), version: z.string() }) });

/** @throws Error that names the buildpack which cannot be used */
export async function placeBuildpacks(options: PlaceOptions): Promise<void> {
  const { inImage, order } = parsePlacedFile(await readFile(options.file, "utf8"));
  for (const buildpack of inImage) await link(toImagePath(buildpack), join(options.to, toBuildpackPath(buildpack)));
  const identities = new Map<string, ImageBuildpack>();
  for (const entry of order.flat().filter(isBrought)) {
    const source = sourceOf(entry);
    if (!identities.has(source)) identities.set(source, await place(entry, options, identities));
  }
  await writeFile(
    join(options.to, ORDER_FILE),
    toOrderToml(order, (entry) => identities.get(sourceOf(entry))!),
  );
}

function sourceOf(entry: BroughtEntry): string {
  return "content" in entry ? entry.content : entry.image;
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

async function place(
  entry: BroughtEntry,
  options: PlaceOptions,
  others: ReadonlyMap<string, ImageBuildpack>,
): Promise<ImageBuildpack> {
  try {
    return "content" in entry ? await placeUploaded(entry.content, options, others) : await placeImage(entry, options);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the buildpack ${hideUserinfo(entry.name)}: ${why}`, { cause });
  }
}

function placeImage({ image }: { image: string }, { to, insecureHosts }: PlaceOptions): Promise<ImageBuildpack> {
  return withBuildpackImage(image, { insecureHosts }, async ({ main, unpack }) => {
    await unpack(to, toBuildpackPath);
    return main;
  });
}

async function placeUploaded(
  digest: string,
  { to, open, maxBytes }: PlaceOptions,
  others: ReadonlyMap<string, ImageBuildpack>,
): Promise<ImageBuildpack> {
  const temporary = join(to, ".unpacked");
  const folder = await unpackUploaded(await open(digest), temporary, maxBytes);
  const buildpack = await readIdentity(folder);
  const path = join(to, toBuildpackPath(buildpack));
  if ([...others.values()].some((other) => toBuildpackPath(other) === toBuildpackPath(buildpack)))
    throw new Error(
      `another buildpack of this build is ${buildpack.id} ${buildpack.version}, too; disable one of them`,
    );
  await mkdir(dirname(path), { recursive: true });
  // Before a buildpack of the builder image that is the same.
  await rm(path, { recursive: true, force: true });
  await rename(folder, path);
  await rm(temporary, { recursive: true, force: true });
  return buildpack;
}

async function readIdentity(folder: string): Promise<ImageBuildpack> {
  const text = await readFile(join(folder, "buildpack.toml"), "utf8").catch((cause: unknown) => {
    throw new Error("it has no buildpack.toml; an admin has to upload the folder of a buildpack", { cause });
  });
  const { buildpack } = descriptor.parse(parse(text));
  // Both become folders' names.
  if (/^(?!\.)[\w./-]+$/.test(buildpack.id) && /^(?!\.)[\w.+-]+$/.test(buildpack.version)) return buildpack;
  throw new Error("its buildpack.toml has an id or a version that the specification does not allow");
}
