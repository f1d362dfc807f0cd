// Builds a package and makes its droplet the app's current one, with the build's log as it comes.
import { setTimeout as delay } from "node:timers/promises";
import type { Resource } from "../api/client.ts";
import { followLog } from "../app/log-stream.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";

interface Build extends Resource {
  state: "STAGING" | "STAGED" | "FAILED";
  error?: string | null;
  droplet?: { guid: string } | null;
}

const DEADLINE_MS = 20 * 60_000;

/** Waits until the package is ready. @throws Failure when it is refused. */
export async function waitUntilPackageReady({ api }: Context, guid: string): Promise<void> {
  const deadline = Date.now() + 5 * 60_000;
  for (let pause = 25; ; pause = Math.min(pause * 2, 500)) {
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

/** Builds, prints the log, sets the droplet. @throws Failure with the build's error */
export async function stage(context: Context, app: Resource, packageGuid: string): Promise<void> {
  const { api } = context;
  const build = await api.request<Build>("POST", "/v3/builds", { body: { package: { guid: packageGuid } } });
  const done = new AbortController();
  const log = streamLog(context, app, { since: BigInt(Date.now() - 1000) * 1_000_000n, signal: done.signal });
  try {
    const droplet = await waitUntilStaged(context, build.guid);
    await api.request("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, {
      body: { data: { guid: droplet } },
    });
  } finally {
    done.abort();
    await log;
  }
}

async function streamLog(
  { api, progress }: Context,
  app: Resource,
  options: { since: bigint; signal: AbortSignal },
): Promise<void> {
  try {
    for await (const line of followLog(api, app.guid, options))
      if (line.source.startsWith("STG")) progress.line(line.message);
  } catch {
    progress.step("The build's log cannot be read; the build goes on");
  }
}

async function waitUntilStaged({ api }: Context, guid: string): Promise<string> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let pause = 50; ; pause = Math.min(pause * 2, 500)) {
    const build = await api.request<Build>("GET", `/v3/builds/${guid}`);
    if (build.state === "STAGED" && build.droplet) return build.droplet.guid;
    if (build.state === "FAILED") throw new Failure(`the build failed: ${build.error ?? "it gave no reason"}`);
    if (Date.now() > deadline) throw new Failure(`the build has not ended in ${DEADLINE_MS / 60_000} minutes`);
    await delay(pause);
  }
}
