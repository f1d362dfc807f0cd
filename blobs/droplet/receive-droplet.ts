// Receives a droplet as a file: one of a platform of ours, or a tar.gz with the app in the folder `app`. It gets a root of its own, or becomes a layer of an image.
import { MAX_UNPACKED_BYTES } from "./max-unpacked-bytes.ts";
import { createReadStream } from "node:fs";
import { lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { parse, stringify } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { ArchiveRejected } from "../archive/archive-path.ts";
import { packDirectory, type FileOwner } from "../archive/tar.ts";
import { unpackUpload } from "../archive/unpack-upload.ts";
import type { Blob, BlobStore } from "../blob-store.ts";
import type { ScratchFolder } from "../scratch/scratch-space.ts";
import { moveRoot } from "./move-root.ts";

/** The label in a droplet's metadata.toml that names the root it was built at. */
export const ROOT_LABEL = "dev.cupola.root";

const MAX_STORED_BYTES = MAX_UNPACKED_BYTES;
const MAX_METADATA_BYTES = 1 << 20;
const METADATA = ["layers", "config", "metadata.toml"];

export interface DropletUpload {
  space: string;
  /** The tar.gz: the path of a file that somebody sent, or what opens a stored one when its turn comes. */
  bits: string | (() => Promise<Readable>);
  /** The root it gets, or the owner of its files where it becomes a layer. */
  place: { root: string } | { owner: FileOwner };
  /** The root it was built at, where that is known; else its own metadata tell. */
  from?: string | undefined;
  /** A folder that the caller removes. Its signal ends the work. */
  scratch: ScratchFolder;
}

/** Stores the droplet, ready to be unpacked at its root, or to lie at an image's `/`. @throws ArchiveRejected with the reason, BlobTooLarge, ScratchFull */
export function receiveDroplet(store: Pick<BlobStore, "put">, upload: DropletUpload): Promise<Blob> {
  return upload.scratch.turn(() => receive(store, upload));
}

async function receive(
  store: Pick<BlobStore, "put">,
  { space, bits, place, from, scratch }: DropletUpload,
): Promise<Blob> {
  const { signal } = scratch;
  const folder = await mkdtemp(join(scratch.path, "droplet-"));
  try {
    await unpack(bits, folder, scratch);
    if (!(await isFolder(join(folder, "app"))))
      throw new ArchiveRejected("it has no folder app, where the app would be");
    const metadata = await readPlainFile(folder, METADATA);
    const builtAt = metadata === undefined ? undefined : (from ?? findRoot(metadata));
    if (metadata === undefined) await describeApp(folder);
    const links = "owner" in place ? await linkRoots(folder, builtAt) : [];
    if ("root" in place) await relocate(folder, builtAt, place.root);
    const owner = "owner" in place ? place.owner : undefined;
    signal?.throwIfAborted();
    const content = packDirectory(folder, ["app", "layers", ...links], owner);
    if (signal) addAbortSignal(signal, content);
    return await store.put(space, "droplet", content, { maxBytes: MAX_STORED_BYTES, scratch });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function unpack(bits: DropletUpload["bits"], folder: string, scratch: ScratchFolder): Promise<void> {
  const isSent = typeof bits === "string";
  await unpackUpload(isSent ? createReadStream(bits) : await bits(), folder, {
    maxBytes: MAX_UNPACKED_BYTES,
    symlinks: "any",
    scratch,
    ...(isSent && { packedBytes: (await stat(bits)).size }),
  });
}

async function relocate(folder: string, from: string | undefined, to: string): Promise<void> {
  if (from === undefined || from === to) return;
  if (dirname(from) !== dirname(to) || basename(from).length !== basename(to).length)
    throw new ArchiveRejected(
      `it was built at ${from}, and its layers may name that folder; this platform keeps droplets under ${dirname(to)}. Push the source here instead`,
    );
  await moveRoot(folder, from, to);
}

/** Where the app of a built image is, in Cloud Native Buildpacks. */
const WORKSPACE = "workspace";
/** A root of an image: a link to `/`, with as many characters as the root that it stands for. */
const ROOT_LINK = "cupola-root-";
const MAX_NAME_BYTES = 255;

/** In an image app and layers lie at `/`: links stand where files of them may say that they are. Returns the links' names. */
async function linkRoots(folder: string, builtAt: string | undefined): Promise<string[]> {
  const links = new Map([[WORKSPACE, "app"]]);
  if (builtAt !== undefined) {
    const length = Buffer.byteLength(builtAt) - 1;
    if (length <= ROOT_LINK.length || length > MAX_NAME_BYTES)
      throw new ArchiveRejected(
        `it was built at ${builtAt}, a path of ${length + 1} bytes, and an image takes one of ${ROOT_LINK.length + 2} to ${MAX_NAME_BYTES + 1}. Push the source here instead`,
      );
    const name = ROOT_LINK.padEnd(length, "0");
    await moveRoot(folder, builtAt, `/${name}`);
    links.set(name, ".");
  }
  for (const [name, target] of links) {
    await rm(join(folder, name), { recursive: true, force: true });
    await symlink(target, join(folder, name));
  }
  return [...links.keys()];
}

const metadataFile = z.object({ labels: z.array(z.object({ key: z.string(), value: z.string() })).default([]) });

function findRoot(metadata: string): string | undefined {
  const parsed = metadataFile.safeParse(parseOrReject(metadata));
  if (!parsed.success)
    throw new ArchiveRejected("its layers/config/metadata.toml has no labels as lists of key and value");
  return parsed.data.labels.find(({ key }) => key === ROOT_LABEL)?.value;
}

function parseOrReject(toml: string): unknown {
  try {
    return parse(toml);
  } catch (cause) {
    throw new ArchiveRejected("its layers/config/metadata.toml cannot be read", { cause });
  }
}

const stagingInfo = z.object({ start_command: z.string().min(1) });

function parseStagingInfo(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new ArchiveRejected("its staging_info.yml is no valid YAML", { cause });
  }
}

/** A droplet of another platform has no metadata of ours: its staging_info.yml names the start command, or `cf push -c` does. */
async function describeApp(folder: string): Promise<void> {
  const info = await readPlainFile(folder, ["staging_info.yml"]);
  const found = info === undefined ? undefined : stagingInfo.safeParse(parseStagingInfo(info)).data;
  const web = found && { type: "web", command: [found.start_command], args: [], direct: false };
  // Layers of another kind are no layers here.
  await rm(join(folder, "layers"), { recursive: true, force: true });
  await mkdir(join(folder, "layers", "config"), { recursive: true });
  await writeFile(join(folder, ...METADATA), stringify({ buildpacks: [], processes: web ? [web] : [], labels: [] }));
}

/** The text of a small file; undefined when there is none, or a link on the way to it. */
async function readPlainFile(folder: string, parts: readonly string[]): Promise<string | undefined> {
  const parents = parts.slice(0, -1).map((_, at) => join(folder, ...parts.slice(0, at + 1)));
  for (const parent of parents) if (!(await isFolder(parent))) return undefined;
  const path = join(folder, ...parts);
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isFile() && stats.size <= MAX_METADATA_BYTES ? readFile(path, "utf8") : undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() ?? false;
}
