// Where the control plane's binaries come from: KUBEBUILDER_ASSETS, then our cache, else a build from the pinned Go modules beside this file.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cacheRoot } from "../../scripts/cache-root.ts";

/** Absolute paths of the programs a control plane needs. */
export interface Binaries {
  etcd: string;
  "kube-apiserver": string;
  "kube-controller-manager": string;
  kubectl: string;
}

type Name = keyof Binaries;
type Log = (line: string) => void;

const modules = fileURLToPath(new URL("modules", import.meta.url));
const kubernetesVersion = pinnedVersion("kubernetes", "k8s.io/kubernetes");
const [, minor] = kubernetesVersion.split(".");
const stamp = "k8s.io/component-base/version";
const ldflags = `-s -w -X ${stamp}.gitVersion=${kubernetesVersion} -X ${stamp}.gitMajor=1 -X ${stamp}.gitMinor=${minor}`;

// In the order that shows a broken set-up soonest; the minutes are for two cores with an empty Go build cache.
const recipes: { name: Name; module: string; pkg: string; minutes: string }[] = [
  { name: "etcd", module: "etcd", pkg: "go.etcd.io/etcd/server/v3", minutes: "half a minute" },
  { name: "kube-apiserver", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", minutes: "4 minutes" },
  {
    name: "kube-controller-manager",
    module: "kubernetes",
    pkg: "k8s.io/kubernetes/cmd/kube-controller-manager",
    minutes: "1 minute",
  },
  { name: "kubectl", module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kubectl", minutes: "1 minute" },
];

/** Why this machine cannot have a control plane, or undefined when it can (perhaps after a build of some minutes). */
export function whyNoControlPlane(): string | undefined {
  if (missing(resolveExisting()).length === 0) return undefined;
  const go = spawnSync("go", ["version"], { stdio: "ignore", timeout: 30_000 });
  return go.status === 0
    ? undefined
    : "there is no Go to build kube-apiserver with, and KUBEBUILDER_ASSETS names no folder that has it";
}

/** Finds the binaries, building what is missing. Safe when several processes call it at once: one builds, the others wait. */
export async function provideBinaries(log: Log = toStderr): Promise<Binaries> {
  for (;;) {
    const found = resolveExisting();
    const missingBinaries = missing(found);
    if (missingBinaries.length === 0) return found as Binaries;
    const reason = whyNoControlPlane();
    if (reason)
      throw new Error(
        `no control plane: ${reason}. Install Go, or set KUBEBUILDER_ASSETS (setup-envtest makes such a folder)`,
      );
    await withBuildLock(log, async () => {
      for (const recipe of recipes.filter((r) => missing(resolveExisting()).includes(r.name))) await build(recipe, log);
    });
  }
}

function resolveExisting(): Partial<Binaries> {
  const found: Partial<Binaries> = {};
  for (const { name } of recipes) {
    const candidates = [process.env.KUBEBUILDER_ASSETS, cacheDir()].filter((dir) => dir !== undefined && dir !== "");
    const path = candidates.map((dir) => join(dir!, name)).find((file) => existsSync(file));
    if (path) found[name] = path;
  }
  return found;
}

function missing(found: Partial<Binaries>): Name[] {
  return recipes.map((r) => r.name).filter((name) => !found[name]);
}

/** The folder of this pin: the digest makes a changed go.mod or flag a new folder, so that no stale binary is ever taken. */
function cacheDir(): string {
  const digest = createHash("sha256")
    .update(ldflags)
    .update(process.platform + process.arch);
  for (const module of ["etcd", "kubernetes"]) digest.update(readFileSync(join(modules, module, "go.sum")));
  return join(cacheRoot(), "kubernetes", `${kubernetesVersion}-${digest.digest("hex").slice(0, 8)}`);
}

function pinnedVersion(module: string, path: string): string {
  const text = readFileSync(join(modules, module, "go.mod"), "utf8");
  const line = text.split("\n").find((l) => l.includes(`${path} v`) && !l.includes("=>"));
  const version = line
    ?.trim()
    .replace(/^require /, "")
    .split(" ")[1];
  if (!version) throw new Error(`test/cluster/modules/${module}/go.mod pins no version of ${path}`);
  return version;
}

async function build(recipe: (typeof recipes)[number], log: Log): Promise<void> {
  const temp = mkdtempSync(join(cacheDir(), ".building-"));
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  log(`building ${recipe.name} from ${recipe.pkg} (about ${recipe.minutes} the first time) …`);
  const progress = setInterval(() => log(`  still building ${recipe.name}, ${seconds()} s …`), 30_000);
  try {
    await runGo(
      ["build", "-o", join(temp, recipe.name), "-ldflags", ldflags, recipe.pkg],
      join(modules, recipe.module),
    );
    renameSync(join(temp, recipe.name), join(cacheDir(), recipe.name));
    log(`built ${recipe.name} in ${seconds()} s`);
  } finally {
    clearInterval(progress);
    rmSync(temp, { recursive: true, force: true });
  }
}

function runGo(args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("go", args, {
      cwd,
      env: { ...process.env, GOWORK: "off" },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 3_600_000,
    });
    let tail = "";
    child.stderr.on("data", (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-4000)));
    child.on("error", (cause) => reject(new Error("go could not be started", { cause })));
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`go ${args.at(-1)} failed in ${cwd}:\n${tail}`)),
    );
  });
}

/** Runs `work` unless another live process is at it, in which case it waits for that one to end; the caller looks again. */
async function withBuildLock(log: Log, work: () => Promise<void>): Promise<void> {
  mkdirSync(cacheDir(), { recursive: true });
  const lock = join(cacheDir(), ".lock");
  if (!takeLock(lock)) {
    log("another process is building the control plane; waiting for it …");
    while (isLockHolderAlive(lock)) await delay(500);
    return;
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // A holder that died leaves its lock. Should two waiters both clear it, both build, and the renames make that harmless.
  if (!isLockHolderAlive(lock)) rmSync(lock, { force: true });
  return false;
}

function isLockHolderAlive(lock: string): boolean {
  if (!existsSync(lock)) return false;
  const pid = Number(readFileSync(lock, "utf8"));
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
