// Who may use the folder (root) of a host droplet: the first (space, digest) that filled it. Anybody may name a root in a Droplet, so a
// name proves nothing. The record lies beside the root: it survives a root that is moved or emptied, and garbage collection removes both.
import { randomUUID } from "node:crypto";
import { link, lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { Digest } from "../../blobs/blob-store.ts";
import { LaunchRefused } from "./launch-refused.ts";

const rootOwner = z.object({
  /** Told from one that differs only in case: on some file systems these are one folder. */
  root: z.string(),
  space: z.string(),
  /** The droplet that fills the root; absent while a build is filling it. */
  digest: z.string().optional(),
  /** uid of the Staging that builds there. It may build again after a crash. */
  staging: z.string().optional(),
});
export type RootOwner = z.output<typeof rootOwner>;

/** A build claims by its Staging, a runner by the droplet's digest. */
export type RootClaim = { root: string; space: string } & ({ staging: string } | { digest: Digest });

/** A root that belongs to somebody else, or that nobody may have. */
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

/** The record of a root. Roots whose names differ only in case share it, as they may share the folder. */
export function ownerFile(root: string): string {
  return join(dirname(root), `.owner-${basename(root).toLowerCase()}`);
}

/** Claims the root, or confirms that it is ours already. Of several claims at once one wins. @throws RootRefused */
export async function claimRoot(claim: RootClaim): Promise<void> {
  await checkFolder(claim.root);
  if (!(await isOurs(claim))) {
    await createOwner(claim);
    if (!(await isOurs(claim))) throw new Error(`the record of ${claim.root} vanished while it was being claimed`);
  }
}

/** Whether the root is ours; false when nobody has it. @throws RootRefused when it is another's */
export async function isOurs(claim: RootClaim): Promise<boolean> {
  const owner = await findOwner(claim.root);
  if (!owner) return false;
  const isSame = "staging" in claim ? owner.staging === claim.staging : owner.digest === claim.digest;
  if (owner.root === claim.root && owner.space === claim.space && isSame) return true;
  throw new RootRefused(refusal(claim.root));
}

/** Replaces the record in one step. Only for who has claimed the root. */
export async function writeOwner(owner: RootOwner): Promise<void> {
  const temporary = await writeTemporary(owner);
  await rename(temporary, ownerFile(owner.root));
}

/** Gives the root up. The root must be gone. */
export async function releaseRoot(root: string): Promise<void> {
  await rm(ownerFile(root), { force: true });
}

/** What is said to somebody who names another's root; it does not name the owner. */
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

/** A link fails when the name is taken, and the record appears whole. */
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

/** @throws RootRefused when something other than a folder has the name */
export async function checkFolder(root: string): Promise<void> {
  const stat = await lstat(root).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (stat && !stat.isDirectory())
    throw new RootRefused(`${root} is no folder of its own (a link or a file); restage the app`);
}
