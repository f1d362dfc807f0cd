// Gives another space a package with its index.
import { BlobNotFound, type BlobStore } from "../blob-store.ts";
import type { PackageSource } from "./resources.ts";

/** Within one space there is nothing to do. @throws BlobNotFound */
export async function copyPackage(
  store: BlobStore,
  { space, digest }: PackageSource,
  target: string,
  maxBytes: number,
): Promise<void> {
  if (!(await store.has(space, digest))) throw new BlobNotFound(space, digest);
  if (target === space) return;
  await store.put(target, "package", await store.open(space, digest), { maxBytes });
  const note = await store.findNote(space, digest);
  if (note !== undefined) await store.writeNote(target, digest, note);
}
