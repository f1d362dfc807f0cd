// One build from this side: starts its process, feeds it the package, follows its log, holds it to its limits, keeps the droplet, cleans up.
import { type ChildProcess, spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Blob, BlobStore } from "../../../blobs/blob-store.ts";
import { type Environment, hostEnvironment } from "../../host/host-environment.ts";
import type { DropletMetadata } from "../../host/droplet-metadata.ts";
import { findProcess, trySignal } from "../../host/process-table.ts";
import { markRestored } from "../../host/restore-droplet.ts";
import { killInstance, type Leader } from "../../host/terminate-instance.ts";
import type { JobAnswer, JobRequest } from "./build-protocol.ts";
import { StagingFailure } from "./lifecycle/staging-failure.ts";
import type { LineSink } from "./lifecycle/run-executable.ts";
import { type BuildLimits, watchLimits } from "./build-limits.ts";
import { makeWork, removeRoot, temporaryOf } from "./work-directory.ts";

/** What one build needs. Directories are absolute; `work` is this try's own and is removed at the end, `root` too unless a droplet came of it. */
export interface StagingJob {
  store: BlobStore;
  space: string;
  /** Digest of the package. */
  content: string;
  work: string;
  root: string;
  request: Omit<JobRequest, "root" | "work" | "droplet" | "maxBytes">;
  limits: Omit<BuildLimits, "directories">;
  log: LineSink;
  onError: (error: unknown) => void;
  signal: AbortSignal;
  /** Whether this process still is the one that builds: another may have taken over while it stood still. */
  holds: () => boolean;
}

export interface StagedDroplet extends Blob {
  metadata: DropletMetadata;
}

/** The file in `work` by which a later start finds a process that was left behind. */
export const leaderFile = "leader.json";

const program = join(import.meta.dirname, `build-process${extname(import.meta.filename)}`);
const mebibyte = 2 ** 20;
const notLeading = "this process does not lead any more, so it does not build";

/** Runs the build. Aborting the signal kills all of its processes. @throws StagingFailure; whatever else it throws is no fault of the app */
export async function runStaging(job: StagingJob): Promise<StagedDroplet> {
  const droplet = join(job.work, "droplet.tar.gz");
  let staged = false;
  refuseUnlessHeld(job);
  if (!(await makeWork(job.work, job.holds))) throw new Error(notLeading);
  try {
    await removeRoot(job.root, job.work);
    const metadata = await runProcess(job, droplet);
    const blob = await job.store.put(job.space, "droplet", createReadStream(droplet), { maxBytes: 2 * job.limits.diskMB * mebibyte });
    refuseUnlessHeld(job);
    await markRestored(job.root, blob.digest);
    staged = true;
    return { ...blob, metadata };
  } finally {
    await cleanUp(job, staged);
  }
}

function refuseUnlessHeld({ signal, holds }: StagingJob): void {
  signal.throwIfAborted();
  if (!holds()) throw new Error(notLeading);
}

/** Who takes over removes every `work` that it finds before it builds in the same `root`: while ours is there, so is what we made. */
async function cleanUp(job: StagingJob, staged: boolean): Promise<void> {
  if (!staged) await removeOwnRoot(job);
  await rm(job.work, { recursive: true, force: true });
}

async function removeOwnRoot({ work, root, holds }: StagingJob): Promise<void> {
  // A build may have removed its own `work`, which is its HOME.
  if (holds()) await makeWork(work, holds);
  await removeRoot(root, work);
}

async function runProcess(job: StagingJob, droplet: string): Promise<DropletMetadata> {
  const bits = await openPackage(job);
  const child = spawn(process.execPath, [program], { cwd: job.work, detached: true, env: childEnvironment(job.work), stdio: ["pipe", "pipe", "pipe", "ipc"] });
  const exited = new Promise<number | NodeJS.Signals | Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "SIGKILL"));
  });
  if (child.pid === undefined) throw new Error("the process of the build did not start", { cause: await exited });
  const pgid = child.pid;
  let leader: Leader | undefined;
  const problems: StagingFailure[] = [];
  const kill = (): void => trySignal(-pgid, "SIGKILL");
  job.signal.addEventListener("abort", kill, { once: true });
  const unwatch = watchLimits(pgid, { ...job.limits, directories: [job.root, job.work] }, {
    exceeded: ({ code, message }) => {
      problems.push(new StagingFailure(code, message));
      kill();
    },
    error: job.onError,
  });
  try {
    leader = await rememberLeader(job.work, pgid);
    const answer = await converse(job, child, { bits, droplet, exited, kill });
    job.signal.throwIfAborted();
    if (problems[0]) throw problems[0];
    if (!answer) throw new StagingFailure("StagingError", `the build ended without an answer (${String(await exited)})`);
    if ("failure" in answer) throw new StagingFailure(answer.failure.code, answer.failure.message);
    return answer.metadata;
  } finally {
    unwatch();
    job.signal.removeEventListener("abort", kill);
    kill();
    await killInstance(leader, temporaryOf(job.work));
  }
}

async function openPackage(job: StagingJob): Promise<Readable> {
  const bits = await job.store.open(job.space, job.content).catch((cause: unknown) => {
    throw new StagingFailure("StagingError", "the package's content is not in the blob store; push again", { cause });
  });
  try {
    refuseUnlessHeld(job);
  } catch (error) {
    bits.destroy();
    throw error;
  }
  return bits;
}

interface Conversation {
  bits: Readable;
  droplet: string;
  exited: Promise<unknown>;
  kill: () => void;
}

async function converse(job: StagingJob, child: ChildProcess, talk: Conversation): Promise<JobAnswer | undefined> {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error("the process of the build has no pipes");
  const answered = new Promise<JobAnswer | undefined>((resolve) => {
    child.once("message", (answer) => resolve(answer as JobAnswer));
    void talk.exited.then(() => resolve(undefined));
  });
  const request: JobRequest = { ...job.request, root: job.root, work: job.work, droplet: talk.droplet, maxBytes: job.limits.diskMB * mebibyte };
  // A channel that breaks is seen by its exit.
  child.send(request, () => undefined);
  const fed = pipeline(talk.bits, stdin).catch((error: unknown) => {
    // A build that fails before it has read all of its package closes its end.
    if (!(error instanceof Error && "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_PREMATURE_CLOSE"))) job.onError(error);
  });
  const logged = Promise.all([follow(stdout, "OUT", job.log), follow(stderr, "ERR", job.log)]);
  const answer = await answered;
  // What the build has started and left running ends here, and with it the log.
  talk.kill();
  await Promise.all([talk.exited, logged, fed]);
  return answer;
}

async function follow(source: Readable, stream: "OUT" | "ERR", log: LineSink): Promise<void> {
  for await (const line of createInterface({ input: source, crlfDelay: Infinity })) log(stream, line);
}

async function rememberLeader(work: string, pid: number): Promise<Leader | undefined> {
  const row = await findProcess(pid);
  if (!row) return undefined;
  const leader = { pid, identity: row.identity };
  await writeFile(join(work, leaderFile), JSON.stringify(leader));
  return leader;
}

function childEnvironment(work: string): Environment {
  return { ...hostEnvironment(), HOME: work, TMPDIR: temporaryOf(work) };
}
