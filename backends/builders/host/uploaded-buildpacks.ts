// Uploaded buildpacks: unpacked once per machine, from the blob store, in folders named by their content.
import { randomUUID } from "node:crypto";
import { access, chmod, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { unpackTar } from "../../../blobs/archive/tar.ts";
import { BlobNotFound, type BlobStore, type Digest } from "../../../blobs/blob-store.ts";
import { BUILDPACK_BLOBS } from "../../../crds/buildpack/buildpack.ts";
import { StagingFailure } from "../staging-failure.ts";

/** The folder of an uploaded buildpack. @throws StagingFailure when its content is gone */
export type ProvideUploaded = (digest: Digest) => Promise<string>;

const MAX_UNPACKED_BYTES = 4 * 2 ** 30;
const DESCRIPTOR = "buildpack.toml";

/** Where the content is unpacked. */
export function toUploadedFolder(directory: string, digest: Digest): string {
  return join(directory, digest.replace(/^sha256:/, ""));
}

/** `directory` is a folder of this builder alone. Concurrent calls for one content share one unpacking. */
export function uploadedBuildpacks(store: Pick<BlobStore, "open">, directory: string): ProvideUploaded {
  const inFlight = new Map<Digest, Promise<string>>();
  return (digest) => {
    const running = inFlight.get(digest) ?? provide(store, directory, digest).finally(() => inFlight.delete(digest));
    inFlight.set(digest, running);
    return running;
  };
}

async function provide(store: Pick<BlobStore, "open">, directory: string, digest: Digest): Promise<string> {
  const target = toUploadedFolder(directory, digest);
  if (!(await exists(target))) await unpack(store, { directory, target, digest });
  return findFolder(target);
}

async function unpack(
  store: Pick<BlobStore, "open">,
  { directory, target, digest }: { directory: string; target: string; digest: Digest },
): Promise<void> {
  const temporary = join(directory, `.unpack-${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  try {
    const content = await store.open(BUILDPACK_BLOBS, digest);
    await unpackTar(content, temporary, { maxBytes: MAX_UNPACKED_BYTES, symlinks: "inside" });
    // Zips made by cf and on Windows do not always carry modes.
    await makeExecutable(join(await findFolder(temporary), "bin"));
    await rename(temporary, target);
  } catch (error) {
    if (error instanceof BlobNotFound)
      throw new StagingFailure("StagingError", "the uploaded buildpack's content is gone; upload it again", {
        cause: error,
      });
    // Another process of this machine was quicker.
    if (!(await exists(target))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The folder itself, or the one folder in it. */
async function findFolder(folder: string): Promise<string> {
  if (await exists(join(folder, DESCRIPTOR))) return folder;
  const [only, ...others] = await readdir(folder);
  return only !== undefined && others.length === 0 ? join(folder, only) : folder;
}

async function makeExecutable(bin: string): Promise<void> {
  const names = await readdir(bin).catch(() => []);
  for (const name of names) await chmod(join(bin, name), 0o755);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
