// Where the programs of a cluster come from: KUBEBUILDER_ASSETS, then our cache, else a build from the pinned Go modules beside this file.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cacheRoot } from "../../scripts/cache-root.ts";

/** Absolute paths of the programs a control plane needs. */
export type Binaries = Record<(typeof CONTROL_PLANE)[number], string>;

/** A program that is built here. */
export type BinaryName = keyof typeof recipes;
type Log = (line: string) => void;

interface Recipe {
  /** A folder of modules/. */
  module: keyof typeof modulePaths;
  /** As `go build` takes it. */
  pkg: string;
  /** On two cores with an empty Go build cache. */
  minutes: string;
  /** For programs that run in containers, which have no C library. */
  static?: true;
}

const modulesFolder = fileURLToPath(new URL("modules", import.meta.url));
/** Purpose of each folder of modules/; its version names the folder of the cache. */
const modulePaths = {
  etcd: "go.etcd.io/etcd/server/v3",
  // Apart from `etcd`, so that who restores no snapshot builds none of it.
  etcdutl: "go.etcd.io/etcd/etcdutl/v3",
  kubernetes: "k8s.io/kubernetes",
  // Apart from `kubernetes`, so that who needs no node builds and downloads less.
  "kubernetes-node": "k8s.io/kubernetes",
  coredns: "github.com/coredns/coredns",
  lifecycle: "github.com/buildpacks/lifecycle",
  helm: "helm.sh/helm/v4",
  traefik: "github.com/traefik/traefik/v3",
  "metrics-server": "sigs.k8s.io/metrics-server",
  // For `npm run bench -- kwok` alone.
  kwok: "sigs.k8s.io/kwok",
  // For `npm run bench -- policy` alone.
  gatekeeper: "github.com/open-policy-agent/gatekeeper/v3",
} as const;

const CONTROL_PLANE = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;

// The control plane's in the order that shows a broken set-up soonest.
const recipes = {
  etcd: { module: "etcd", pkg: "go.etcd.io/etcd/server/v3", minutes: "half a minute" },
  "kube-apiserver": { module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", minutes: "4 minutes" },
  "kube-controller-manager": {
    module: "kubernetes",
    pkg: "k8s.io/kubernetes/cmd/kube-controller-manager",
    minutes: "1 minute",
  },
  kubectl: { module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/kubectl", minutes: "1 minute" },
  etcdutl: { module: "etcdutl", pkg: "go.etcd.io/etcd/etcdutl/v3", minutes: "1 minute" },
  kubelet: { module: "kubernetes-node", pkg: "k8s.io/kubernetes/cmd/kubelet", minutes: "1 minute" },
  "kube-scheduler": { module: "kubernetes-node", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", minutes: "1 minute" },
  "kube-proxy": { module: "kubernetes-node", pkg: "k8s.io/kubernetes/cmd/kube-proxy", minutes: "1 minute" },
  coredns: { module: "coredns", pkg: ".", minutes: "2 minutes", static: true },
  lifecycle: {
    module: "lifecycle",
    pkg: "github.com/buildpacks/lifecycle/cmd/lifecycle",
    minutes: "1 minute",
    static: true,
  },
  launcher: {
    module: "lifecycle",
    pkg: "github.com/buildpacks/lifecycle/cmd/launcher",
    minutes: "1 minute",
    static: true,
  },
  helm: { module: "helm", pkg: "helm.sh/helm/v4/cmd/helm", minutes: "2 minutes" },
  traefik: { module: "traefik", pkg: "github.com/traefik/traefik/v3/cmd/traefik", minutes: "5 minutes", static: true },
  "metrics-server": {
    module: "metrics-server",
    pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server",
    minutes: "4 minutes",
    static: true,
  },
  kwok: { module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", minutes: "2 minutes" },
  gatekeeper: { module: "gatekeeper", pkg: "github.com/open-policy-agent/gatekeeper/v3", minutes: "8 minutes" },
} as const satisfies Record<string, Recipe>;

/** Why this machine cannot have a control plane, or undefined when it can (perhaps after a build of some minutes). */
export function whyNoControlPlane(): string | undefined {
  if (process.env["CUPOLA_CONTROL_PLANE"] === "none") return "npm run test:all runs it";
  return (
    whyNoBinaries(CONTROL_PLANE) &&
    "there is no Go to build kube-apiserver with, and KUBEBUILDER_ASSETS names no folder that has it"
  );
}

/** Why this machine cannot have these programs, or undefined when it can (perhaps after a build of some minutes). */
export function whyNoBinaries(names: readonly BinaryName[]): string | undefined {
  const absent = names.filter((name) => !findBinary(name));
  if (absent.length === 0) return undefined;
  const go = spawnSync("go", ["version"], { stdio: "ignore", timeout: 30_000 });
  return go.status === 0 ? undefined : `there is no Go to build ${absent.join(", ")} with`;
}

/** Finds the control plane's programs, building what is missing. Safe when several processes call it at once: one builds, the others wait. */
export async function provideBinaries(log: Log = toStderr): Promise<Binaries> {
  const reason = whyNoControlPlane();
  if (reason)
    throw new Error(
      `no control plane: ${reason}. Install Go, or set KUBEBUILDER_ASSETS (setup-envtest makes such a folder)`,
    );
  const paths = {} as Binaries;
  for (const name of CONTROL_PLANE) paths[name] = await provideBinary(name, log);
  return paths;
}

/** The path of a program, which is built when the cache lacks it. Safe when several processes call it at once: one builds, the others wait. */
export async function provideBinary(name: BinaryName, log: Log = toStderr): Promise<string> {
  for (;;) {
    const found = findBinary(name);
    if (found) return found;
    const reason = whyNoBinaries([name]);
    if (reason) throw new Error(`${reason}: install Go`);
    const folder = cacheDir(recipes[name].module);
    await withBuildLock(folder, log, async () => {
      if (!findBinary(name)) await build(name, folder, log);
    });
  }
}

function findBinary(name: BinaryName): string | undefined {
  return [process.env.KUBEBUILDER_ASSETS, cacheDir(recipes[name].module)]
    .filter((dir) => dir !== undefined && dir !== "")
    .map((dir) => join(dir!, name))
    .find((file) => existsSync(file));
}

/** The folder of this pin: the digest makes a changed go.mod or flag a new folder, so that no stale binary is ever taken. */
function cacheDir(module: Recipe["module"]): string {
  const digest = createHash("sha256")
    .update(linkerFlags(module))
    .update(process.platform + process.arch);
  const isControlPlane = module === "etcd" || module === "kubernetes";
  for (const name of isControlPlane ? (["etcd", "kubernetes"] as const) : [module])
    digest.update(readFileSync(join(modulesFolder, name, "go.sum")));
  const folder = isControlPlane ? "kubernetes" : module;
  return join(cacheRoot(), folder, `${pinnedVersion(folder)}-${digest.digest("hex").slice(0, 8)}`);
}

function linkerFlags(module: Recipe["module"]): string {
  if (modulePaths[module] !== modulePaths.kubernetes && module !== "etcd") return "-s -w";
  const version = pinnedVersion("kubernetes");
  const stamp = "k8s.io/component-base/version";
  return `-s -w -X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=1 -X ${stamp}.gitMinor=${version.split(".")[1]}`;
}

function pinnedVersion(module: Recipe["module"]): string {
  const path = modulePaths[module];
  const text = readFileSync(join(modulesFolder, module, "go.mod"), "utf8");
  const line = text.split("\n").find((l) => l.includes(`${path} v`) && !l.includes("=>"));
  const version = line
    ?.trim()
    .replace(/^require /, "")
    .split(" ")[1];
  if (!version) throw new Error(`test/cluster/modules/${module}/go.mod pins no version of ${path}`);
  return version;
}

async function build(name: BinaryName, folder: string, log: Log): Promise<void> {
  const recipe: Recipe = recipes[name];
  const temp = mkdtempSync(join(folder, ".building-"));
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  log(`building ${name} from ${modulePaths[recipe.module]} (about ${recipe.minutes} the first time) …`);
  const progress = setInterval(() => log(`  still building ${name}, ${seconds()} s …`), 30_000);
  try {
    await runGo(
      ["build", "-o", join(temp, name), "-ldflags", linkerFlags(recipe.module), recipe.pkg],
      join(modulesFolder, recipe.module),
      recipe.static ? { CGO_ENABLED: "0" } : {},
    );
    renameSync(join(temp, name), join(folder, name));
    log(`built ${name} in ${seconds()} s`);
  } finally {
    clearInterval(progress);
    rmSync(temp, { recursive: true, force: true });
  }
}

function runGo(args: string[], cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("go", args, {
      cwd,
      env: { ...process.env, ...env, GOWORK: "off" },
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
async function withBuildLock(folder: string, log: Log, work: () => Promise<void>): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, ".lock");
  if (!takeLock(lock)) {
    log("another process builds what is needed here; waiting for it …");
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
