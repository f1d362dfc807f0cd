// Files of Debian packages without installing them: downloaded by name, unpacked into a folder of our cache, used from there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache-root.ts";
import { runCommand } from "../run-command.ts";
import { nodeArch, ownProcessor, type Processor } from "./processor.ts";

/** Where the files of some packages are. */
export interface UnpackedPackages {
  /** Holds them as `/` would: `<root>/usr/bin/...`. Shared by all users of the same list, so read only. */
  root: string;
  /** `name_version_architecture` of each, sorted. */
  versions: string[];
}

const PACKAGE_NAME = /^[a-z0-9][a-z0-9+.-]+$/;
const VERSIONS_FILE = "versions.json";
const DEADLINE_MS = 5 * 60_000;
/** As root, apt-get downloads as a user who may not write to our folder. */
const SANDBOX = process.getuid?.() === 0 ? ["-q", "-o", "APT::Sandbox::User=root"] : ["-q"];

/** Why this machine cannot have these packages, or undefined when it can (perhaps after a download of some seconds). */
export function whyNoPackages(names: readonly string[]): string | undefined {
  if (existsSync(packagesFolder(names))) return undefined;
  const absent = ["apt-get", "dpkg"].find((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error);
  return absent && `there is no ${absent} to fetch the Debian packages ${names.join(", ")} with`;
}

/**
 * The packages of exactly these names, without those they depend on. They are kept in `CUPOLA_CACHE` by the list of names; remove the folder `debian` there to
 * get newer versions. Several processes may call it at once. @throws Error with the output of apt-get or dpkg
 */
export async function providePackages(
  names: readonly string[],
  processor: Processor = ownProcessor(),
): Promise<UnpackedPackages> {
  const strange = names.find((name) => !PACKAGE_NAME.test(name));
  if (strange !== undefined) throw new Error(`"${strange}" is no name of a Debian package`);
  const folder = packagesFolder(names, processor);
  if (!existsSync(folder)) await unpackInto(folder, [...new Set(names)], processor);
  const versions = JSON.parse(readFileSync(join(folder, VERSIONS_FILE), "utf8")) as string[];
  return { root: join(folder, "root"), versions };
}

/** A folder for each set of packages and release of Debian. */
function packagesFolder(names: readonly string[], processor = ownProcessor()): string {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const digest = createHash("sha256").update([nodeArch(processor), release, ...new Set(names)].sort().join("\n"));
  return join(cacheRoot(), "debian", digest.digest("hex").slice(0, 16));
}

async function unpackInto(folder: string, names: readonly string[], processor: Processor): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  const temp = mkdtempSync(`${folder}-`);
  try {
    const files = await download(names, temp, processor);
    const root = join(temp, "root");
    mkdirSync(root);
    for (const file of files) await runOrThrow(["dpkg", "-x", join(temp, file), root], temp);
    const versions = files.map((file) => decodeURIComponent(file.replace(/\.deb$/, "")));
    writeFileSync(join(temp, VERSIONS_FILE), JSON.stringify(versions));
    for (const file of files) rmSync(join(temp, file));
    rmSync(join(temp, "apt"), { recursive: true, force: true });
    keepFirst(temp, folder);
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

/** @returns the names of the files in `folder` */
async function download(names: readonly string[], folder: string, processor: Processor): Promise<string[]> {
  if (processor !== ownProcessor()) await downloadWithFreshLists(names, folder, processor);
  else await downloadForThis(names, folder);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".deb"))
    .sort();
}

async function downloadForThis(names: readonly string[], folder: string): Promise<void> {
  const own = await runCommand(["apt-get", ...SANDBOX, "download", ...names], { cwd: folder, deadlineMs: DEADLINE_MS });
  if (own.code !== 0) await downloadWithFreshLists(names, folder);
}

/** The machine's own lists of packages may be absent or old, and only root may renew them, so these are apart. */
async function downloadWithFreshLists(names: readonly string[], folder: string, foreign?: Processor): Promise<void> {
  const [state, cache] = [join(folder, "apt", "state"), join(folder, "apt", "cache")];
  mkdirSync(join(state, "lists", "partial"), { recursive: true });
  // Nothing of another processor is installed here.
  const status = join(state, "status");
  if (foreign) writeFileSync(status, "");
  mkdirSync(join(cache, "archives", "partial"), { recursive: true });
  const options = [
    `Dir::State=${state}`,
    `Dir::State::status=${foreign ? status : "/var/lib/dpkg/status"}`,
    ...(foreign ? [`APT::Architecture=${foreign}`, `APT::Architectures=${foreign}`] : []),
    `Dir::Cache=${cache}`,
    // No translated descriptions: the lists of packages are enough.
    "Acquire::Languages=none",
  ];
  const apt: [string, ...string[]] = ["apt-get", ...SANDBOX, ...options.flatMap((option) => ["-o", option])];
  await runOrThrow([...apt, "update"], folder);
  await runOrThrow([...apt, "download", ...names], folder);
}

async function runOrThrow(command: [string, ...string[]], cwd: string): Promise<void> {
  const { code, output } = await runCommand(command, { cwd, deadlineMs: DEADLINE_MS });
  if (code !== 0) throw new Error(`${command[0]} failed; is a Debian mirror reachable?\n${output.slice(-2000)}`);
}

/** Another process may have been faster; its folder is as good. */
function keepFirst(temp: string, folder: string): void {
  try {
    renameSync(temp, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}
