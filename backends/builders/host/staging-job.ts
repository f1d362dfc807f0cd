// One build from this side: starts its process, feeds it the package, follows its log, holds it to its limits, keeps the droplet, cleans up.
import { type ChildProcess, spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Blob, BlobStore } from "../../../blobs/blob-store.ts";
import { type Environment, hostEnvironment } from "../../host/host-environment.ts";
import type { DropletMetadata } from "../../host/droplet-metadata.ts";
import { findProcess, trySignal } from "../../host/process-table.ts";
import { markRestored, restoredDigest } from "../../host/restore-droplet.ts";
import { claimRoot, isOurs, refusal, releaseRoot, RootRefused, writeOwner } from "../../host/root-owner.ts";
import { killInstance, type GroupLeader } from "../../host/terminate-instance.ts";
import type { BuildResponse, BuildRequest } from "./build-protocol.ts";
import { StagingFailure } from "./lifecycle/staging-failure.ts";
import type { LineSink } from "./lifecycle/run-executable.ts";
import { type BuildLimits, watchLimits } from "./build-limits.ts";
import { createWorkDirectory, removeRoot, toTmpDir } from "./work-directory.ts";

/** What one build needs. Directories are absolute; `work` is this try's own and is removed at the end, `root` too unless a droplet came of it. */
export interface StagingJob {
  store: BlobStore;
  space: string;
  /** uid of the Staging: it claims the root. */
  uid: string;
  /** Digest of the package. */
  content: string;
  workDir: string;
  root: string;
  request: Omit<BuildRequest, "root" | "work" | "droplet" | "maxBytes">;
  limits: Omit<BuildLimits, "directories">;
  log: LineSink;
  onError: (error: unknown) => void;
  signal: AbortSignal;
  /** Whether this process still is the one that builds: another may have taken over while it stood still. */
  isLeader: () => boolean;
}

export interface StagedDroplet extends Blob {
  metadata: DropletMetadata;
}

/** The file in `work` by which a later start finds a process that was left behind. */
export const groupLeaderFile = "leader.json";

const program = join(import.meta.dirname, `build-process${extname(import.meta.filename)}`);
const mebibyte = 2 ** 20;
const notLeader = "this process does not lead any more, so it does not build";

/** Runs the build. Aborting the signal kills all of its processes. @throws StagingFailure; whatever else it throws is no fault of the app */
export async function runStaging(job: StagingJob): Promise<StagedDroplet> {
  const droplet = join(job.workDir, "droplet.tar.gz");
  let staged = false;
  checkIsLeader(job);
  await claimBuildRoot(job);
  if (!(await createWorkDirectory(job.workDir, job.isLeader))) throw new Error(notLeader);
  try {
    await removeRoot(job.root, job.workDir);
    const metadata = await runProcess(job, droplet);
    const blob = await job.store.put(job.space, "droplet", createReadStream(droplet), {
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

/** From here on no droplet is unpacked in the root, whatever Droplets name it. */
async function claimBuildRoot(job: StagingJob): Promise<void> {
  const claim = toClaim(job);
  await mkdir(dirname(job.root), { recursive: true });
  try {
    // Without a record, a whole droplet is from before there were records.
    if (!(await isOurs(claim)) && (await restoredDigest(job.root)) !== undefined)
      throw new RootRefused(refusal(job.root));
    await claimRoot(claim);
  } catch (error) {
    throw error instanceof RootRefused ? new StagingFailure("StagingError", error.message) : error;
  }
  // A droplet of an earlier try of this Staging never left the builder.
  await writeOwner(claim);
}

function checkIsLeader({ signal, isLeader }: StagingJob): void {
  signal.throwIfAborted();
  if (!isLeader()) throw new Error(notLeader);
}

/** Who takes over removes every `work` that it finds before it builds in the same `root`: while ours is there, so is what we made. */
async function cleanUp(job: StagingJob, staged: boolean): Promise<void> {
  if (!staged) await removeOwnRoot(job);
  await rm(job.workDir, { recursive: true, force: true });
}

async function removeOwnRoot({ workDir, root, isLeader }: StagingJob): Promise<void> {
  // A build may have removed its own `work`, which is its HOME.
  if (isLeader()) await createWorkDirectory(workDir, isLeader);
  await removeRoot(root, workDir);
  if (isLeader()) await releaseRoot(root);
}

async function runProcess(job: StagingJob, droplet: string): Promise<DropletMetadata> {
  const bits = await openPackage(job);
  const child = spawn(process.execPath, [program], {
    cwd: job.workDir,
    detached: true,
    env: childEnvironment(job.workDir),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
  const exited = new Promise<number | NodeJS.Signals | Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "SIGKILL"));
  });
  if (child.pid === undefined) throw new Error("the process of the build did not start", { cause: await exited });
  const pgid = child.pid;
  let leader: GroupLeader | undefined;
  const problems: StagingFailure[] = [];
  const kill = (): void => trySignal(-pgid, "SIGKILL");
  job.signal.addEventListener("abort", kill, { once: true });
  const unwatch = watchLimits(
    pgid,
    { ...job.limits, directories: [job.root, job.workDir] },
    {
      exceeded: ({ code, message }) => {
        problems.push(new StagingFailure(code, message));
        kill();
      },
      error: job.onError,
    },
  );
  try {
    leader = await writeGroupLeader(job.workDir, pgid);
    const answer = await exchangeBuild(job, child, { bits, droplet, exited, kill });
    job.signal.throwIfAborted();
    if (problems[0]) throw problems[0];
    if (!answer)
      throw new StagingFailure("StagingError", `the build ended without an answer (${String(await exited)})`);
    if ("failure" in answer) throw new StagingFailure(answer.failure.code, answer.failure.message);
    return answer.metadata;
  } finally {
    unwatch();
    job.signal.removeEventListener("abort", kill);
    kill();
    await killInstance({ leader, tmp: toTmpDir(job.workDir) });
  }
}

async function openPackage(job: StagingJob): Promise<Readable> {
  const bits = await job.store.open(job.space, job.content).catch((cause: unknown) => {
    throw new StagingFailure("StagingError", "the package's content is not in the blob store; push again", { cause });
  });
  try {
    checkIsLeader(job);
  } catch (error) {
    bits.destroy();
    throw error;
  }
  return bits;
}

interface BuildExchange {
  bits: Readable;
  droplet: string;
  exited: Promise<unknown>;
  kill: () => void;
}

async function exchangeBuild(
  job: StagingJob,
  child: ChildProcess,
  exchange: BuildExchange,
): Promise<BuildResponse | undefined> {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error("the process of the build has no pipes");
  const answered = new Promise<BuildResponse | undefined>((resolve) => {
    child.once("message", (answer) => resolve(answer as BuildResponse));
    void exchange.exited.then(() => resolve(undefined));
  });
  const request: BuildRequest = {
    ...job.request,
    root: job.root,
    work: job.workDir,
    droplet: exchange.droplet,
    maxBytes: job.limits.diskMB * mebibyte,
  };
  // A channel that breaks is seen by its exit.
  child.send(request, () => undefined);
  const bitsWritten = pipeline(exchange.bits, stdin).catch((error: unknown) => {
    // A build that fails before it has read all of its package closes its end.
    if (!(
      error instanceof Error &&
      "code" in error &&
      (error.code === "EPIPE" || error.code === "ERR_STREAM_PREMATURE_CLOSE")
    ))
      job.onError(error);
  });
  const logged = Promise.all([follow(stdout, "OUT", job.log), follow(stderr, "ERR", job.log)]);
  const answer = await answered;
  // What the build has started and left running ends here, and with it the log.
  exchange.kill();
  await Promise.all([exchange.exited, logged, bitsWritten]);
  return answer;
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
