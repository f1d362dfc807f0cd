// Builds a package and makes its droplet the app's current one, with the build's log as it comes.
import { STAGING_TIMEOUT_SECONDS } from "../../crds/staging/staging-limits.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient, Resource } from "../api/client.ts";
import { followLog, recentLog } from "../app/log-stream.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { silentProgress } from "../output.ts";
import { adviseBuild, shortenBuildError } from "./advice.ts";

interface Build extends Resource {
  created_at: string;
  state: "STAGING" | "STAGED" | "FAILED";
  error?: string | null;
  droplet?: { guid: string } | null;
  lifecycle?: { type: string };
}

/** A build ends by itself; it may have waited for others. */
const DEADLINE_MS = STAGING_TIMEOUT_SECONDS * 1000 + 5 * 60_000;

/** Waits until the package is ready. @throws Failure when it is refused. */
export async function waitUntilPackageReady({ api }: Context, guid: string): Promise<void> {
  const deadline = Date.now() + 5 * 60_000;
  for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
    const found = await api.request<Resource & { state: string; data?: { error?: string | null } }>(
      "GET",
      `/v3/packages/${guid}`,
    );
    if (found.state === "READY") return;
    if (found.state === "FAILED" || found.state === "EXPIRED")
      throw new Failure(`the package was refused: ${found.data?.error ?? found.state}`);
    if (Date.now() > deadline) throw new Failure("the package has not become ready in 5 minutes");
    await delay(pause);
  }
}

interface StageOptions {
  packageGuid: string;
  /** The app's memory: its build gets as much, if that is more than builds get anyway. */
  memoryMB?: number | undefined;
  setsDroplet?: boolean;
  /** Called once the app can be started; the log's last lines may be on their way. */
  onSet?: () => void;
  /** As findLastLine answers, where it was asked early. */
  earlierLog?: Promise<bigint | undefined>;
}

/** Memory of a build that does not ask for more. */
const LEAST_BUILD_MB = 1024;

/** Builds, prints the log, sets the droplet unless a rollout will. Returns the droplet's GUID. @throws Failure with the build's error */
export async function stage(
  context: Context,
  app: Resource,
  { packageGuid, memoryMB, setsDroplet = true, onSet, earlierLog }: StageOptions,
): Promise<string> {
  const { api } = context;
  const lastLine = await (earlierLog ?? findLastLine(api, app));
  const build = await api.request<Build>("POST", "/v3/builds", {
    body: {
      package: { guid: packageGuid },
      ...(memoryMB !== undefined && memoryMB > LEAST_BUILD_MB && { staging_memory_in_mb: memoryMB }),
    },
  });
  const { state, error, droplet, log } = await followBuild(context, app, {
    guid: build.guid,
    since: logStart(build, lastLine),
  });
  if (state === "FAILED") throw toFailure(context, app, { error, lines: await log });
  const guid = droplet?.guid ?? "";
  const set = async (): Promise<void> => {
    await api.request("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, { body: { data: { guid } } });
    onSet?.();
  };
  await Promise.all([setsDroplet ? set() : undefined, log]);
  return guid;
}

const LAST_LINES = 20;

function toFailure(
  { progress }: Context,
  { name }: Resource,
  { error, lines }: Pick<Build, "error"> & { lines: readonly string[] },
): Failure {
  const message = error ?? "it gave no reason";
  return new Failure(`the build of ${name} failed: ${shortenBuildError(message)}`, {
    next: adviseBuild({ app: name, message, lines }),
    // Elsewhere the log stands above.
    ...(progress === silentProgress && { log: lines.slice(-LAST_LINES) }),
  });
}

/** How long the log of a build that has ended may be late: a busy platform has not read it yet. */
const LATE_LOG_MS = 5_000;

/** Passes the log through until the build has ended; its last lines may follow. */
async function followBuild(
  context: Context,
  app: Resource,
  { guid, since }: { guid: string; since: bigint },
): Promise<Build & { log: Promise<string[]> }> {
  const done = new AbortController();
  const log = streamLog(context, app, { since, stop: done });
  const ended = await waitUntilStaged(context, guid).finally(() => done.abort());
  const readLate = async (): Promise<string[]> => {
    const lines = await log;
    // Every build of source says something.
    if (lines.length > 0 || ended.lifecycle?.type === "docker") return lines;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LATE_LOG_MS);
    return streamLog(context, app, { since, stop: late, untilSeen: true }).finally(() => clearTimeout(timer));
  };
  return { ...ended, log: readLate() };
}

/** How far apart the clocks of a platform's machines may be. */
const PLATFORM_SKEW_MS = 1000;

/** Nanoseconds on the platform's clocks, which ours may differ from: after the build before, and not long before this one was made. */
function logStart({ created_at }: Build, lastLine: bigint | undefined): bigint {
  const earliest = BigInt(Date.parse(created_at) - PLATFORM_SKEW_MS) * 1_000_000n;
  return lastLine !== undefined && lastLine >= earliest ? lastLine + 1n : earliest;
}

/** When the newest line of an earlier build was logged; undefined where there is none, or the log cannot be read. */
export async function findLastLine(api: ApiClient, app: Pick<Resource, "guid">): Promise<bigint | undefined> {
  const lines = await recentLog(api, app.guid).catch(() => []);
  return lines.findLast(({ source }) => source.startsWith("STG"))?.timestamp;
}

interface StreamOptions {
  /** Nanoseconds. */
  since: bigint;
  /** Ends it: lines that are there by then are still given. */
  stop: AbortController;
  /** Ends it once there are lines. */
  untilSeen?: boolean;
}

/** The lines of the build, once it has been stopped. */
async function streamLog(
  { api, progress }: Context,
  app: Resource,
  { since, stop, untilSeen = false }: StreamOptions,
): Promise<string[]> {
  const lines: string[] = [];
  try {
    for await (const { source, message } of followLog(api, app.guid, { since, signal: stop.signal })) {
      if (!source.startsWith("STG")) continue;
      progress.line(message);
      lines.push(message);
      if (untilSeen) stop.abort();
    }
  } catch {
    progress.step("The build's log cannot be read; the build goes on");
  }
  return lines;
}

/** The build as it ended. @throws Failure at the deadline */
async function waitUntilStaged({ api }: Context, guid: string): Promise<Build> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let pause = 50; ; pause = Math.min(pause * 2, 500)) {
    const build = await api.request<Build>("GET", `/v3/builds/${guid}`);
    if ((build.state === "STAGED" && build.droplet) || build.state === "FAILED") return build;
    if (Date.now() > deadline) throw new Failure(`the build has not ended in ${DEADLINE_MS / 60_000} minutes`);
    await delay(pause);
  }
}
