// A host droplet's folder (root) belongs to the (space, digest) that filled it first. A Droplet can name any root, so the name proves
// nothing. The record of the owner lies beside the root: it survives when the root is emptied, and garbage collection removes both.
import { randomUUID } from "node:crypto";
import { link, lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { Digest } from "../../blobs/blob-store.ts";
import { LaunchRefused } from "./launch-refused.ts";

const rootOwner = z.object({
  /** Detects a name that differs only in case: on some file systems that is the same folder. */
  root: z.string(),
  space: z.string(),
  /** The droplet in the root; absent while a build fills it. */
  digest: z.string().optional(),
  /** uid of the Staging that builds there. It may build again after a crash. */
  staging: z.string().optional(),
});
export type RootOwner = z.output<typeof rootOwner>;

/** A build claims a root by its Staging, a runner by the droplet's digest. */
export type DropletFolderClaim = { root: string; space: string } & ({ staging: string } | { digest: Digest });

/** The root belongs to another owner, or its path is not allowed. */
export class RootRefused extends LaunchRefused {
  override name = "RootRefused";
}

/** @throws RootRefused unless `root` is directly under `directory`, with a plain name: no `..`, no trailing slash, nothing hidden */
export function checkRoot(root: string, directory: string): void {
  const isDirectChild = resolve(root) === root && dirname(root) === resolve(directory);
  if (!isDirectChild || !/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/.test(basename(root)))
    throw new RootRefused(
      `the droplet was built at ${root}, this machine keeps droplets under ${directory}; restage the app here`,
    );
}

/** The file with the owner of a root. Roots whose names differ only in case share it, since they may be one folder. */
export function ownerFile(root: string): string {
  return join(dirname(root), `.owner-${basename(root).toLowerCase()}`);
}

/** Claims the root, or confirms an earlier claim. Of several concurrent claims one wins. @throws RootRefused */
export async function claimRoot(claim: DropletFolderClaim): Promise<void> {
  await checkFolder(claim.root);
  if (!(await isOurs(claim))) {
    await createOwner(claim);
    if (!(await isOurs(claim))) throw new Error(`the record of ${claim.root} vanished while it was being claimed`);
  }
}

/** Whether the claim is in force; false when the root has no owner. @throws RootRefused when it has another owner */
export async function isOurs(claim: DropletFolderClaim): Promise<boolean> {
  const owner = await findOwner(claim.root);
  if (!owner) return false;
  const isSame = "staging" in claim ? owner.staging === claim.staging : owner.digest === claim.digest;
  if (owner.root === claim.root && owner.space === claim.space && isSame) return true;
  throw new RootRefused(refusal(claim.root));
}

/** Replaces the record atomically. The caller must have claimed the root. */
export async function writeOwner(owner: RootOwner): Promise<void> {
  const temporary = await writeTemporary(owner);
  await rename(temporary, ownerFile(owner.root));
}

/** Removes the record. The root must be gone. */
export async function releaseRoot(root: string): Promise<void> {
  await rm(ownerFile(root), { force: true });
}

/** The message for a droplet that names another's root. It does not reveal the owner. */
export function refusal(root: string): string {
  return `the folder ${root} belongs to another droplet, so nothing in it is used or changed; restage the app, its build gets a folder of its own`;
}

async function findOwner(root: string): Promise<RootOwner | undefined> {
  let text: string;
  try {
    text = await readFile(ownerFile(root), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return parseOwner(text, root);
}

function parseOwner(text: string, root: string): RootOwner {
  try {
    return rootOwner.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${ownerFile(root)} is damaged; restage the app, or remove ${root} and then this file`, { cause });
  }
}

/** By a hard link, which fails when the name is taken, and which makes the whole record visible at once. */
async function createOwner(owner: RootOwner): Promise<void> {
  const temporary = await writeTemporary(owner);
  try {
    await link(temporary, ownerFile(owner.root));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeTemporary({ root, space, digest, staging }: RootOwner): Promise<string> {
  const path = `${ownerFile(root)}.${randomUUID()}`;
  await writeFile(path, JSON.stringify({ root, space, digest, staging }), { mode: 0o600 });
  return path;
}

/** @throws RootRefused when the root exists and is not a folder */
export async function checkFolder(root: string): Promise<void> {
  const stat = await lstat(root).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (stat && !stat.isDirectory())
    throw new RootRefused(`${root} is no folder of its own (a link or a file); restage the app`);
}
