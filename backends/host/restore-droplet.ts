// Puts a host droplet where it was built: once per machine, whole or not at all.
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { unpackTar } from "../../blobs/archive/tar.ts";
import type { BlobStore, Digest } from "../../blobs/blob-store.ts";

/** A droplet as the workload kinds name it. `root` is absolute. */
export interface HostDroplet {
  space: string;
  digest: Digest;
  root: string;
}

const marker = ".droplet";
const maxDropletBytes = 16 * 2 ** 30;
const inFlight = new Map<string, Promise<void>>();

/**
 * After it, `droplet.root` holds the droplet. Any number of calls at once are one unpacking.
 * @throws Error when the root is not directly under `directory` (another machine or home built it: restage the app), BlobNotFound
 */
export function restoreDroplet(store: BlobStore, droplet: HostDroplet, directory: string): Promise<void> {
  checkRoot(droplet.root, directory);
  const key = `${droplet.root} ${droplet.digest}`;
  const running = inFlight.get(key) ?? restore(store, droplet, directory).finally(() => inFlight.delete(key));
  inFlight.set(key, running);
  return running;
}

/** A path inside the droplets directory, and one level deep: nobody's Droplet object may name another place. */
export function checkRoot(root: string, directory: string): void {
  const name = basename(root);
  if (
    resolve(root) !== root ||
    dirname(root) !== resolve(directory) ||
    name.startsWith(".") ||
    !/^[A-Za-z0-9-]+$/.test(name)
  ) {
    throw new Error(
      `the droplet was built at ${root}, this machine keeps droplets under ${directory}; restage the app here`,
    );
  }
}

/** Says that `root` holds this droplet, whole. The builder calls it where it built. */
export async function markRestored(root: string, digest: Digest): Promise<void> {
  await writeFile(join(root, marker), digest);
}

/** The digest of the droplet that `root` holds whole, undefined when it holds none. */
export async function restoredDigest(root: string): Promise<Digest | undefined> {
  return readFile(join(root, marker), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  });
}

async function restore(store: BlobStore, droplet: HostDroplet, directory: string): Promise<void> {
  if ((await restoredDigest(droplet.root)) === droplet.digest) return;
  const temporary = join(directory, `.unpack-${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  try {
    await unpackTar(await store.open(droplet.space, droplet.digest), temporary, {
      maxBytes: maxDropletBytes,
      symlinks: "any",
    });
    await markRestored(temporary, droplet.digest);
    await moveInto(temporary, droplet, directory);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function moveInto(temporary: string, droplet: HostDroplet, directory: string): Promise<void> {
  try {
    await rename(temporary, droplet.root);
  } catch (error) {
    const occupied =
      error instanceof Error && "code" in error && (error.code === "ENOTEMPTY" || error.code === "EEXIST");
    if (!occupied) throw error;
    if ((await restoredDigest(droplet.root)) === droplet.digest) return;
    // Left by a build that was cut off: it goes aside first, so that the root is never half of two things.
    const renamed = join(directory, `.old-${randomUUID()}`);
    await rename(droplet.root, renamed);
    await rename(temporary, droplet.root);
    await rm(renamed, { recursive: true, force: true });
  }
}
