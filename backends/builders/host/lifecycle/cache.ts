// The cache between builds of one app: cached layers, reusable launch layers, layer metadata, store.toml.
import { randomUUID } from "node:crypto";
import { constants, cp, mkdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "smol-toml";
import { z } from "zod";
import { escapeId } from "../../../host/droplet-metadata.ts";
import { StagingFailure } from "../../staging-failure.ts";
import { isDirectory, type Layer } from "./layers.ts";

const savedLayer = z.object({
  name: z.string(),
  launch: z.boolean(),
  build: z.boolean(),
  cache: z.boolean(),
  metadata: z.record(z.string(), z.unknown()),
});
const index = z.object({
  buildpacks: z.record(z.string(), z.object({ layers: z.array(savedLayer), store: z.string().optional() })),
});
type Index = z.output<typeof index>;

/** A buildpack and the folder of its layers in this build. */
export interface BuildpackLayers {
  id: string;
  directory: string;
}

const indexFile = "cache.json";
/** In a layer's metadata, which otherwise belongs to its buildpack: its contents are still those of the last build. Not part of the cache. */
const unchangedMark = "cupola-unchanged";

/** Restores for one buildpack the contents of cached layers, and the metadata of these and of launch-only layers, as the specification says. */
export async function restoreLayers(cache: string, target: BuildpackLayers): Promise<void> {
  const saved = (await readIndex(cache)).buildpacks[target.id];
  await mkdir(target.directory, { recursive: true });
  if (!saved) return;
  for (const layer of saved.layers) {
    // Only cached layers get their contents back; a launch-only layer gets its metadata.
    if (layer.cache)
      await restoreContents(join(cache, escapeId(target.id), layer.name), join(target.directory, layer.name), layer);
    else if (layer.build) continue;
    await writeFile(join(target.directory, `${layer.name}.toml`), stringify({ metadata: layer.metadata }));
  }
  if (saved.store !== undefined) await writeFile(join(target.directory, "store.toml"), saved.store);
}

/** A copy, which a failed build may spoil; or the contents themselves. */
async function restoreContents(from: string, to: string, layer: Omit<Layer, "present">): Promise<void> {
  if (isInPlace(layer)) await symlink(from, to);
  else await copyDirectory(from, to);
}

/** Restores a launch layer that its buildpack reuses. @throws StagingFailure when the previous build had none */
export async function reuseLayer(cache: string, target: BuildpackLayers, layer: string): Promise<void> {
  const contents = join(cache, escapeId(target.id), layer);
  if (!(await isDirectory(contents)))
    throw new StagingFailure(
      "BuildpackCompileFailed",
      `${target.id} wants its layer ${layer} of the last build again, but there is none`,
    );
  await copyDirectory(contents, join(target.directory, layer));
}

/**
 * Replaces the cache by the layers of this build. An interruption leaves the old cache or none, never a mixture.
 * A layer whose buildpack says `cupola-unchanged = true` in its metadata stays in the cache as it is, without a copy.
 */
export async function saveLayers(
  cache: string,
  built: readonly (BuildpackLayers & { layers: readonly Layer[]; store?: string })[],
): Promise<void> {
  const fresh = `${cache}.new-${randomUUID()}`;
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  await rm(join(cache, indexFile), { force: true });
  const content: Index = { buildpacks: {} };
  for (const { id, directory, layers, store } of built) {
    const kept = layers.filter((layer) => (layer.cache || layer.launch) && layer.present);
    content.buildpacks[id] = {
      layers: kept.map(toSaved),
      ...(store !== undefined && { store }),
    };
    for (const layer of kept) {
      const contents = join(directory, layer.name);
      const cached = join(cache, escapeId(id), layer.name);
      const target = join(fresh, escapeId(id), layer.name);
      if ((await isLinkTo(cached, contents)) || (layer.metadata[unchangedMark] === true && (await isDirectory(cached))))
        await moveDirectory(cached, target);
      else if (isInPlace(layer)) await moveDirectory(contents, target);
      else await copyDirectory(contents, target);
    }
  }
  await writeFile(join(fresh, indexFile), JSON.stringify(content));
  await rm(cache, { recursive: true, force: true });
  await rename(fresh, cache);
}

function toSaved({ present: _, metadata, ...layer }: Layer): z.output<typeof savedLayer> {
  const { [unchangedMark]: __, ...saved } = metadata;
  return { ...layer, metadata: saved };
}

/**
 * Whether the buildpack says `in-place = true` in the metadata of a layer for the cache alone: builds use the cache itself, without a copy.
 * For caches that bear interruptions, or are only read. A buildpack that links their files into the app sees for itself whether they were changed there.
 */
function isInPlace({ cache, launch, metadata }: Omit<Layer, "present">): boolean {
  return cache && !launch && metadata["in-place"] === true;
}

async function isLinkTo(target: string, path: string): Promise<boolean> {
  return (await readlink(path).catch(() => undefined)) === target;
}

async function moveDirectory(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    await copyDirectory(from, to);
  }
}

async function readIndex(cache: string): Promise<Index> {
  const text = await readFile(join(cache, indexFile), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  return text === undefined ? { buildpacks: {} } : index.parse(JSON.parse(text));
}

async function copyDirectory(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  // Copy-on-write where the file system supports it. Links are copied verbatim, or they would point into the cache.
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
  });
}
