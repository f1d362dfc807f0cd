// The layer with the launcher of Cloud Native Buildpacks, taken out of a builder image.
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { LRUCache } from "lru-cache";
import { packMembers, readTar, type TarMember } from "../../archive/tar.ts";
import type { Digest } from "../../blob-store.ts";
import { bytesSource } from "../bytes-source.ts";
import type { BlobSource } from "../blob-upload.ts";
import type { Descriptor } from "../image-manifest.ts";
import { formatImageName, parseImageName } from "../image-name.ts";
import type { Place } from "../place.ts";
import type { RegistryClient } from "../registry-client.ts";

/** A small layer in memory. `unpacked` is the digest of its tar. */
export interface SmallLayer {
  source: BlobSource;
  unpacked: Digest;
}

/** An image that cannot be used for droplets. The message is for operators and people who push. */
export class UnusableImage extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "UnusableImage";
  }
}

const LAUNCHER = "cnb/lifecycle/launcher";
const MAX_LAUNCHER_BYTES = 64 * 2 ** 20;
/** The most that one layer of a builder image may unpack to. */
const MAX_LAYER_BYTES = 8 * 2 ** 30;
/** Bound on remembered builder images. */
const MAX_REMEMBERED = 2;

/** Reads each builder image once. */
export function createLauncherLayers(client: RegistryClient): (builderImage: string) => Promise<SmallLayer> {
  const known = new LRUCache<string, Promise<SmallLayer>>({ max: MAX_REMEMBERED });
  return (builderImage) => {
    const layer = known.get(builderImage) ?? readLauncher(client, builderImage);
    known.set(builderImage, layer);
    layer.catch(() => known.delete(builderImage));
    return layer;
  };
}

/** @throws UnusableImage, ImageNotFound, RegistryError */
async function readLauncher(client: RegistryClient, builderImage: string): Promise<SmallLayer> {
  const image = parseImageName(builderImage);
  const { manifest } = await client.getManifest(image);
  // The lifecycle has a small layer of its own; those of systems and languages need not be read.
  for (const layer of manifest.layers.filter(isGzip).sort((one, other) => one.size - other.size)) {
    const launcher = await findLauncher(client, image, layer);
    if (launcher) return packLayer([{ ...directory("cnb/lifecycle") }, file(LAUNCHER, launcher)]);
  }
  throw new UnusableImage(`the builder image ${formatImageName(image)} has no /${LAUNCHER}`);
}

function isGzip({ mediaType }: Descriptor): boolean {
  return mediaType.endsWith("gzip");
}

class Found extends Error {
  readonly content: Buffer;
  constructor(content: Buffer) {
    super("found");
    this.content = content;
  }
}

async function findLauncher(client: RegistryClient, place: Place, layer: Descriptor): Promise<Buffer | undefined> {
  try {
    await readTar(await client.openBlob(place, layer), MAX_LAYER_BYTES, async (header, body) => {
      const isLauncher = header.name.replace(/^(\.?\/)+/, "") === LAUNCHER && header.type === "file";
      // Ends the download: nothing else of the layer matters.
      if (isLauncher && (header.size ?? 0) <= MAX_LAUNCHER_BYTES) throw new Found(await body.bytes());
      body.skip();
    });
    return undefined;
  } catch (error) {
    if (error instanceof Found) return error.content;
    throw error;
  }
}

/** The links by which the launcher knows the type of a process: `/cnb/process/web`. */
export function packProcessLinks(types: readonly string[]): Promise<SmallLayer> {
  const links = types.map((type): TarMember => ({
    path: `cnb/process/${type}`,
    type: "symlink",
    target: `/${LAUNCHER}`,
    mode: 0o777,
    size: 0,
  }));
  return packLayer([directory("cnb/process"), ...links]);
}

async function packLayer(members: readonly TarMember[]): Promise<SmallLayer> {
  const bytes = await buffer(packMembers(members));
  const unpacked = createHash("sha256").update(gunzipSync(bytes)).digest("hex");
  return { source: bytesSource(bytes), unpacked: `sha256:${unpacked}` };
}

function directory(path: string): TarMember {
  return { path, type: "directory", mode: 0o755, size: 0 };
}

function file(path: string, content: Buffer): TarMember {
  return { path, type: "file", mode: 0o755, size: content.length, bytes: () => Promise.resolve(content) };
}
