// Debian packages for tests: downloaded by name and unpacked into the cache. Nothing is installed.
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheRoot } from "./cache-root.ts";

const run = promisify(execFile);
const DOWNLOAD_DEADLINE_MS = 120_000;

/** Why this machine cannot have these packages, or undefined when it can (perhaps after a download of some seconds). */
export function whyNoPackages(names: readonly string[]): string | undefined {
  if (existsSync(folderOf(names))) return undefined;
  for (const command of ["apt-get", "dpkg"])
    if (spawnSync(command, ["--version"], { stdio: "ignore", timeout: 30_000 }).status !== 0)
      return `there is no ${command} to fetch the Debian packages ${names.join(", ")} with`;
  return undefined;
}

/**
 * The folder into which all these packages are unpacked, as if it were `/`. It is shared and kept: do not write to it. Processes that ask at once each
 * download, and the first to finish gives the folder its name.
 * @throws Error with apt's words when a package cannot be downloaded
 */
export async function providePackages(names: readonly string[]): Promise<string> {
  const folder = folderOf(names);
  if (existsSync(folder)) return folder;
  await mkdir(join(cacheRoot(), "packages"), { recursive: true });
  const temporary = await mkdtemp(join(cacheRoot(), "packages", ".unpacking-"));
  try {
    await mkdir(join(temporary, "archives"));
    await mkdir(join(temporary, "root"));
    await download(names, join(temporary, "archives"));
    for (const archive of await readdir(join(temporary, "archives")))
      await run("dpkg", ["-x", join(temporary, "archives", archive), join(temporary, "root")]);
    await rename(join(temporary, "root"), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}

async function download(names: readonly string[], into: string): Promise<void> {
  const fetchAll = () =>
    run("apt-get", ["-o", "APT::Sandbox::User=root", "download", ...names], {
      cwd: into,
      timeout: DOWNLOAD_DEADLINE_MS,
    });
  await fetchAll().catch(async () => {
    // A fresh machine has no package lists yet.
    await run("apt-get", ["update"], { timeout: DOWNLOAD_DEADLINE_MS }).catch(() => undefined);
    await fetchAll().catch((cause: unknown) => {
      throw new Error(`the Debian packages ${names.join(", ")} could not be downloaded: is apt-get set up?`, { cause });
    });
  });
}

/** One folder for each set of packages and release of Debian. */
function folderOf(names: readonly string[]): string {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const digest = createHash("sha256")
    .update([...names].sort().join(" "))
    .update(release + process.arch)
    .digest("hex");
  return join(cacheRoot(), "packages", `${names[0]}-${digest.slice(0, 8)}`);
}
