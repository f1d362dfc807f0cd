// The layers of one buildpack after its build: reading, renaming and removing them by type.
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { listDirectory } from "../../../host/layer-environment.ts";
import { inProduction } from "./buildpack.ts";
import { findToml } from "./toml-file.ts";

/** A layer, as its buildpack wrote it. */
export interface Layer {
  name: string;
  launch: boolean;
  build: boolean;
  cache: boolean;
  metadata: Record<string, unknown>;
  /** Whether the layer's directory exists. A launch layer without one reuses that of the previous build. */
  present: boolean;
}

const layerFile = z.object({
  types: z
    .object({
      launch: z.boolean().default(false),
      build: z.boolean().default(false),
      cache: z.boolean().default(false),
    })
    .default({ launch: false, build: false, cache: false }),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

/** Files of a buildpack's layers directory that describe no layer. */
const otherFiles = new Set(["launch.toml", "build.toml", "store.toml"]);

/** All layers with a `<layer>.toml` in a buildpack's layers directory, sorted by name. `who` is for errors. */
export async function readLayers(directory: string, buildpackKey: string): Promise<Layer[]> {
  const layers: Layer[] = [];
  for (const entry of await listDirectory(directory)) {
    if (!entry.isFile() || !entry.name.endsWith(".toml") || otherFiles.has(entry.name)) continue;
    const name = entry.name.slice(0, -".toml".length);
    const file = (await findToml(join(directory, entry.name), layerFile, buildpackKey)) ?? layerFile.parse({});
    const applies = inProduction(toStrings(file.metadata["exec-env"]));
    const types = applies ? file.types : { launch: false, build: false, cache: false };
    layers.push({ name, ...types, metadata: file.metadata, present: await isDirectory(join(directory, name)) });
  }
  return layers;
}

/** Renames layers without a type, so that no later buildpack uses them. */
export async function ignoreUntyped(directory: string, layers: readonly Layer[]): Promise<void> {
  const typed = new Set(
    layers.filter((layer) => layer.launch || layer.build || layer.cache).map((layer) => layer.name),
  );
  for (const entry of await listDirectory(directory)) {
    if (!entry.isDirectory() || typed.has(entry.name) || entry.name.endsWith(".ignore")) continue;
    await rm(join(directory, `${entry.name}.ignore`), { recursive: true, force: true });
    await rename(join(directory, entry.name), join(directory, `${entry.name}.ignore`));
  }
}

/** Removes all but the launch layers, which are the droplet's. */
export async function keepLaunchLayers(directory: string, layers: readonly Layer[]): Promise<void> {
  const kept = new Set(layers.filter((layer) => layer.launch).map((layer) => layer.name));
  for (const entry of await listDirectory(directory)) {
    if (!(entry.isDirectory() && kept.has(entry.name)))
      await rm(join(directory, entry.name), { recursive: true, force: true });
  }
}

function toStrings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
}

/** Whether `path` is a directory. */
export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
