// Unpacks a host droplet where it was built: once per machine, completely or not at all, and never over another droplet.
import { MAX_UNPACKED_BYTES } from "../../blobs/droplet/max-unpacked-bytes.ts";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unpackTar } from "../../blobs/archive/tar.ts";
import { BlobNotFound, type BlobStore, type Digest } from "../../blobs/blob-store.ts";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
import { removeFolder } from "./remove-folder.ts";
import { checkFolder, checkRoot, claimRoot, isOurs, refusal, RootRefused } from "./root-owner.ts";

/** A droplet as the workload kinds name it. `root` is absolute. */
export interface HostDroplet {
  space: string;
  digest: Digest;
  root: string;
}

const marker = ".droplet";
const inFlight = new Map<string, Promise<void>>();

/**
 * Fills `droplet.root` with the droplet unless it is there. Concurrent calls share one unpacking.
 * @throws RootRefused when the root is another droplet's, or not directly under `directory`; BlobNotFound
 */
export async function restoreDroplet(store: BlobStore, droplet: HostDroplet, directory: string): Promise<void> {
  checkRoot(droplet.root, directory);
  const key = `${droplet.root} ${droplet.space} ${droplet.digest}`;
  const running = inFlight.get(key) ?? restore(store, droplet, directory).finally(() => inFlight.delete(key));
  inFlight.set(key, running);
  return running;
}

/** Marks `root` as holding this complete droplet. The builder calls it after a build. */
export async function markRestored(root: string, digest: Digest): Promise<void> {
  await writeFile(join(root, marker), digest);
}

/** Takes the mark away: the next `restoreDroplet` unpacks it anew. */
export async function unmarkRestored(root: string): Promise<void> {
  await rm(join(root, marker), { force: true });
}

/** The digest of the complete droplet in `root`; undefined when there is none. */
export async function restoredDigest(root: string): Promise<Digest | undefined> {
  return readFile(join(root, marker), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  });
}

async function restore(store: BlobStore, droplet: HostDroplet, directory: string): Promise<void> {
  const { root, space, digest } = droplet;
  await checkFolder(root);
  const held = await restoredDigest(root);
  if (!(await isOurs({ root, space, digest }))) await checkClaimable(store, droplet, held);
  await mkdir(directory, { recursive: true });
  await claimRoot({ root, space, digest });
  if (held === digest) return;
  const temporary = join(directory, `.unpack-${randomUUID()}`);
  await mkdir(temporary);
  try {
    const content = await store.open(space, digest);
    await processScratch.count(space, (scratch) =>
      unpackTar(content, temporary, { maxBytes: MAX_UNPACKED_BYTES, symlinks: "any", scratch }),
    );
    await markRestored(temporary, digest);
    await moveInto(temporary, root, directory);
  } finally {
    await removeFolder(temporary);
  }
}

/** A root without a record is empty, or older than records. The space must have the content: knowing a digest gives no access. */
async function checkClaimable(store: BlobStore, droplet: HostDroplet, held: Digest | undefined): Promise<void> {
  if (held !== undefined && held !== droplet.digest) throw new RootRefused(refusal(droplet.root));
  if (!(await store.has(droplet.space, droplet.digest))) throw new BlobNotFound(droplet.space, droplet.digest);
}

/** Only the root's owner gets here, so anything in the root is left over from an interrupted unpacking or build. */
async function moveInto(temporary: string, root: string, directory: string): Promise<void> {
  try {
    await rename(temporary, root);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    // Moved aside first, so that the root never holds parts of both.
    const renamed = join(directory, `.old-${randomUUID()}`);
    await rename(root, renamed);
    await rename(temporary, root);
    await removeFolder(renamed);
  }
}
