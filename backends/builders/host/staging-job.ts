// A build, seen from the platform: starts its process, sends it the package, follows its log, enforces its limits, stores the droplet, cleans up.
import { type ChildProcess, spawn } from "node:child_process";
import { ReadStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Blob, BlobStore } from "../../../blobs/blob-store.ts";
import { type Environment, hostEnvironment } from "../../host/host-environment.ts";
import type { DropletMetadata } from "../../host/droplet-metadata.ts";
import { findProcess, trySignal } from "../../host/process-table.ts";
import { markRestored, restoredDigest } from "../../host/restore-droplet.ts";
import { claimRoot, isOurs, refusal, releaseRoot, RootRefused, writeOwner } from "../../host/root-owner.ts";
import { killInstance, type GroupLeader } from "../../host/terminate-instance.ts";
import type { BuildResponse, BuildRequest } from "./build-protocol.ts";
import { StagingFailure } from "../staging-failure.ts";
import type { LineSink } from "./lifecycle/run-executable.ts";
import { boundCache, type BuildLimits, type LimitWatch, watchLimits } from "./build-limits.ts";
import { openSource, type PackageSource } from "./package-source.ts";
import { createWorkDirectory, removeRoot, toTmpDir } from "./work-directory.ts";

/** Input of one build. Directories are absolute. `workDir` belongs to this try and is removed at the end; so is `root`, unless the build succeeds. */
export interface StagingJob {
  store: BlobStore;
  space: string;
  /** uid of the Staging: it claims the root. */
  uid: string;
  source: PackageSource;
  workDir: string;
  root: string;
  /** Node's compile cache, shared by all builds: half of the start of a build is compiling modules. */
  compileCache: string;
  request: Omit<BuildRequest, "root" | "work" | "droplet" | "maxBytes">;
  limits: Omit<BuildLimits, "directories" | "cache">;
  log: LineSink;
  onError: (error: unknown) => void;
  signal: AbortSignal;
  /** Whether this process still leads: another may have taken over during a pause. */
  isLeader: () => boolean;
}

export interface StagedDroplet extends Blob {
  metadata: DropletMetadata;
}

/** File in `workDir` that leads a later start to a process that was left behind. */
export const groupLeaderFile = "leader.json";

const program = join(import.meta.dirname, `build-process${extname(import.meta.filename)}`);
const mebibyte = 2 ** 20;
const notLeader = "this process is no longer the leader, so it does not build";

/** Runs the build. Aborting the signal kills all of its processes. @throws StagingFailure; any other error is the platform's, not the app's */
export async function runStaging(job: StagingJob): Promise<StagedDroplet> {
  const droplet = join(job.workDir, "droplet.tar.gz");
  let staged = false;
  checkIsLeader(job);
  await claimBuildRoot(job);
  if (!(await createWorkDirectory(job.workDir, job.isLeader))) throw new Error(notLeader);
  try {
    await removeRoot(job.root, job.workDir);
    const metadata = await runProcess(job, droplet);
    const blob = await job.store.putFile(job.space, "droplet", droplet, {
      maxBytes: 2 * job.limits.diskMB * mebibyte,
    });
    checkIsLeader(job);
    await writeOwner({ ...toClaim(job), digest: blob.digest });
    await markRestored(job.root, blob.digest);
    staged = true;
    return { ...blob, metadata };
  } finally {
    await cleanUp(job, staged);
  }
}

function toClaim({ root, space, uid }: StagingJob): { root: string; space: string; staging: string } {
  return { root, space, staging: uid };
}

/** After this no runner unpacks a droplet in the root, whatever Droplets name it. */
async function claimBuildRoot(job: StagingJob): Promise<void> {
  const claim = toClaim(job);
  await mkdir(dirname(job.root), { recursive: true });
  try {
    // A complete droplet without a record is older than records.
    if (!(await isOurs(claim)) && (await restoredDigest(job.root)) !== undefined)
      throw new RootRefused(refusal(job.root));
    await claimRoot(claim);
  } catch (error) {
    throw error instanceof RootRefused ? new StagingFailure("StagingError", error.message) : error;
  }
  // An earlier try of this Staging may be recorded with a digest that was never published.
  await writeOwner(claim);
}

function checkIsLeader({ signal, isLeader }: StagingJob): void {
  signal.throwIfAborted();
  if (!isLeader()) throw new Error(notLeader);
}

/** The next leader removes every `workDir` before it builds in the same `root`: while our `workDir` exists, the `root` is ours. */
async function cleanUp(job: StagingJob, staged: boolean): Promise<void> {
  if (!staged) await removeOwnRoot(job);
  await rm(job.workDir, { recursive: true, force: true });
}

async function removeOwnRoot({ workDir, root, isLeader }: StagingJob): Promise<void> {
  // A build can remove its own `workDir`, which is its HOME.
  if (isLeader()) await createWorkDirectory(workDir, isLeader);
  await removeRoot(root, workDir);
  if (isLeader()) await releaseRoot(root);
}

interface BuildChild {
  child: ChildProcess;
  /** Exit code or signal, or the error of the spawn. */
  exited: Promise<number | NodeJS.Signals | Error>;
  /** pid of the child, which leads its process group. */
  pgid: number;
  /** SIGKILL to the group. */
  kill: () => void;
}

async function spawnBuild({ workDir, compileCache }: StagingJob, bits: Readable): Promise<BuildChild> {
  const child = spawn(process.execPath, [program], {
    cwd: workDir,
    detached: true,
    env: { ...childEnvironment(workDir), NODE_COMPILE_CACHE: compileCache },
    // The build reads a file itself: through a pipe each byte would be copied three times more.
    stdio: [bits instanceof ReadStream ? bits : "pipe", "pipe", "pipe", "ipc"],
  });
  const exited = new Promise<number | NodeJS.Signals | Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "SIGKILL"));
  });
  const pgid = child.pid;
  if (pgid === undefined) throw new Error("the build's process did not start", { cause: await exited });
  return { child, exited, pgid, kill: () => trySignal(-pgid, "SIGKILL") };
}

/** Kills the build at its first exceeded limit; `failure` returns that limit. */
function enforceLimits(job: StagingJob, { pgid, kill }: BuildChild): LimitWatch & { failure: () => Error | undefined } {
  let failure: Error | undefined;
  const watch = watchLimits(
    pgid,
    { ...job.limits, directories: [job.root, job.workDir], cache: job.request.cache },
    {
      exceeded: ({ code, message }) => {
        failure = new StagingFailure(code, message);
        kill();
      },
      error: job.onError,
    },
  );
  return { ...watch, failure: () => failure };
}

async function runProcess(job: StagingJob, droplet: string): Promise<DropletMetadata> {
  const bits = await openPackage(job);
  const build = await spawnBuild(job, bits);
  job.signal.addEventListener("abort", build.kill, { once: true });
  const limits = enforceLimits(job, build);
  let leader: GroupLeader | undefined;
  try {
    leader = await writeGroupLeader(job.workDir, build.pgid);
    const response = await exchangeBuild(job, build, { bits, droplet });
    job.signal.throwIfAborted();
    const exceeded = limits.failure();
    if (exceeded) throw exceeded;
    if (!response)
      throw new StagingFailure("StagingError", `the build's process ended early (${String(await build.exited)})`);
    if ("failure" in response) throw new StagingFailure(response.failure.code, response.failure.message);
    return response.metadata;
  } finally {
    limits.stop();
    job.signal.removeEventListener("abort", build.kill);
    build.kill();
    await killInstance({ leader, tmp: toTmpDir(job.workDir) });
    await boundCache({ ...job, ...job.limits, cache: job.request.cache }, limits.isCacheFull());
  }
}

async function openPackage(job: StagingJob): Promise<Readable> {
  const bits = await openSource(job);
  try {
    checkIsLeader(job);
  } catch (error) {
    bits.destroy();
    throw error;
  }
  return bits;
}

async function exchangeBuild(
  job: StagingJob,
  { child, exited, kill }: BuildChild,
  { bits, droplet }: { bits: Readable; droplet: string },
): Promise<BuildResponse | undefined> {
  const { stdin, stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("the build's process has no pipes");
  const responded = new Promise<BuildResponse | undefined>((resolve) => {
    child.once("message", (response) => resolve(response as BuildResponse));
    void exited.then(() => resolve(undefined));
  });
  const request: BuildRequest = {
    ...job.request,
    root: job.root,
    work: job.workDir,
    droplet,
    maxBytes: job.limits.diskMB * mebibyte,
  };
  // The exit of the child shows a broken channel.
  child.send(request, () => undefined);
  const bitsSent = sendBits(bits, stdin).catch(job.onError);
  const logged = Promise.all([follow(stdout, "OUT", job.log), follow(stderr, "ERR", job.log)]);
  const response = await responded;
  // Whatever the build left running ends here, and the log with it.
  kill();
  await Promise.all([exited, logged, bitsSent]);
  return response;
}

/** Without `stdin` the build reads them itself. */
async function sendBits(bits: Readable, stdin: Writable | null): Promise<void> {
  if (!stdin) return void bits.destroy();
  try {
    await pipeline(bits, stdin);
  } catch (error) {
    // A build that fails before it has read the whole package closes its stdin.
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "EPIPE" && code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

async function follow(source: Readable, stream: "OUT" | "ERR", log: LineSink): Promise<void> {
  for await (const line of createInterface({ input: source, crlfDelay: Infinity })) log(stream, line);
}

async function writeGroupLeader(workDir: string, pid: number): Promise<GroupLeader | undefined> {
  const row = await findProcess(pid);
  if (!row) return undefined;
  const leader = { pid, identity: row.identity };
  await writeFile(join(workDir, groupLeaderFile), JSON.stringify(leader));
  return leader;
}

function childEnvironment(work: string): Environment {
  return { ...hostEnvironment(), HOME: work, TMPDIR: toTmpDir(work) };
}
