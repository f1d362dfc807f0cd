// Reads a git repository by the machine's git: which commit a name stands for, and its files.
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import type { Environment } from "../../host/host-environment.ts";
import { trySignal } from "../../host/process-table.ts";
import { StagingFailure } from "../staging-failure.ts";

const DEADLINE_MS = 120_000;
const COMMIT = /^[0-9a-f]{40}$/;

export interface Repository {
  url: string;
  /** Branch, tag or commit; undefined for the default branch. */
  reference: string | undefined;
  environment: Environment;
  /** Ends git. */
  signal: AbortSignal;
}

/** The commit that the reference stands for now. @throws StagingFailure when there is no git, no repository or no such reference */
export async function resolveCommit(repository: Repository): Promise<string> {
  const { reference = "HEAD" } = repository;
  if (COMMIT.test(reference)) return reference;
  const output = await git(repository, ["ls-remote", "--", repository.url, reference, `${reference}^{}`]);
  const commit = findCommit(output, reference);
  if (commit && COMMIT.test(commit)) return commit;
  throw new StagingFailure(
    "StagingError",
    `the git repository ${hideUserinfo(repository.url)} has no branch or tag ${reference}`,
  );
}

/** git also lists names that only end in the reference, such as the branch `old/main` for `main`. A branch wins over a tag, as in git clone. */
function findCommit(listed: string, reference: string): string | undefined {
  const commits = new Map(listed.split("\n").map((row): [string, string] => [row.slice(41), row.slice(0, 40)]));
  const names = [`refs/heads/${reference}`, `refs/tags/${reference}^{}`, `refs/tags/${reference}`, reference];
  return names.map((name) => commits.get(name)).find((commit) => commit !== undefined);
}

/** Clones the commit into `folder`, with no history where the server allows that. @throws StagingFailure */
export async function cloneRepository(repository: Repository & { commit: string }, folder: string): Promise<void> {
  const { url, reference, commit } = repository;
  const isNamed = reference !== undefined && !COMMIT.test(reference);
  const shallow = ["clone", "--quiet", "--depth", "1", ...(isNamed ? ["--branch", reference] : []), "--", url, folder];
  try {
    await git(repository, shallow);
    await git(repository, ["-C", folder, "checkout", "--quiet", commit]);
  } catch {
    repository.signal.throwIfAborted();
    // A server of plain files has no shallow clones, and a commit need not be the newest.
    await rm(folder, { recursive: true, force: true });
    await git(repository, ["clone", "--quiet", "--", url, folder]);
    await git(repository, ["-C", folder, "checkout", "--quiet", commit]);
  }
}

async function git({ url, environment, signal }: Repository, args: readonly string[]): Promise<string> {
  // Submodules and other protocols could read files of this machine.
  const env = { ...environment, GIT_TERMINAL_PROMPT: "0", GIT_ALLOW_PROTOCOL: "http:https:git:ssh", LC_ALL: "C" };
  const ended = await runGit(args, env, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]));
  signal.throwIfAborted();
  if (ended.status === 0) return ended.stdout;
  throw new StagingFailure("StagingError", toMessage(url, ended));
}

interface Ended {
  /** Exit code or signal; the code of the error where git could not be started. */
  status: number | string;
  stdout: string;
  stderr: string;
}

/** Ends the whole process group at the signal: git's helpers go on without git, and hold the connection. */
async function runGit(args: readonly string[], env: Environment, signal: AbortSignal): Promise<Ended> {
  const child = spawn("git", args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const kill = (): void => void (child.pid !== undefined && trySignal(-child.pid, "SIGKILL"));
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const exited = new Promise<number | string>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    child.once("exit", (code, killedBy) => resolve(code ?? killedBy ?? "SIGKILL"));
  });
  try {
    const [status, stdout, stderr] = await Promise.all([exited, readEnd(child.stdout), readEnd(child.stderr)]);
    return { status, stdout, stderr };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

const MAX_OUTPUT = 16 * 2 ** 20;

/** Keeps only the end of what is longer than a repository's references usually are. */
async function readEnd(source: Readable): Promise<string> {
  let text = "";
  source.setEncoding("utf8");
  for await (const chunk of source) text = (text + String(chunk)).slice(-MAX_OUTPUT);
  return text;
}

function toMessage(url: string, { status, stderr }: Ended): string {
  if (status === "ENOENT")
    return "git is not installed on this machine, and a buildpack's address needs it. Next: install git, or name a folder";
  const said = stderr.trim().split("\n").at(-1)?.replaceAll(url, hideUserinfo(url)) ?? "";
  return `the buildpack ${hideUserinfo(url)} cannot be fetched by git: ${said || `it ended with ${status}`}`;
}
