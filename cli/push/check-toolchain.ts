// Whether this machine can build an app, asked before anything is written or uploaded: of a laptop's own Cupola alone, whose buildpacks are known here.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundledBuildpacks, bundledFolder } from "../../backends/builders/host/buildpack-folders.ts";
import { hostEnvironment } from "../../backends/host/host-environment.ts";
import { findRunning, homeAt } from "../../local/home.ts";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Application } from "./manifest.ts";

type BundledBuildpack = (typeof bundledBuildpacks)[number];

const DEADLINE_MS = 20_000;

/** Does nothing where it cannot be known. @throws Failure that names the missing toolchain and how to get it */
export async function checkToolchain(context: Context, app: Application, folder: string): Promise<void> {
  const path = await pathOfBuilds(context.target.api);
  if (path === undefined) return;
  const env = hostEnvironment(path);
  const candidates = toCandidates(await context.api.list("/v3/buildpacks", { order_by: "position" }), app.buildpacks);
  const fits = await Promise.all(
    candidates.map((name) => run(join(bundledFolder(name), "bin", "detect"), [], { folder, env })),
  );
  const chosen = app.buildpacks ? candidates : candidates.filter((_, at) => fits[at]?.ok).slice(0, 1);
  for (const name of chosen) {
    const check = join(bundledFolder(name), "..", "shared", "check-toolchain.mjs");
    const { ok, said } = await run(process.execPath, [check, name], { folder, env });
    if (!ok) throw toFailure(said, app.name);
  }
}

/** The PATH of the builds, if the API is this machine's own Cupola. */
async function pathOfBuilds(api: string): Promise<string | undefined> {
  const running = await findRunning(homeAt(undefined)).catch(() => undefined);
  return running?.path !== undefined && new URL(running.url).origin === new URL(api).origin ? running.path : undefined;
}

/**
 * The bundled buildpacks in the platform's order, up to the first that is not bundled: it may fit, and bring what it needs.
 * With names of the user's: these, or none when one of them is not bundled. Pure.
 */
export function toCandidates(listed: readonly Resource[], named: unknown): BundledBuildpack[] {
  const names = Array.isArray(named)
    ? named.map(String)
    : listed.filter((one) => one["enabled"] !== false).map(({ name }) => name);
  const bundled = names.map((name) => bundledBuildpacks.find((one) => name === one || name === `${one}_buildpack`));
  const end = bundled.indexOf(undefined);
  if (end >= 0 && Array.isArray(named)) return [];
  return bundled.slice(0, end < 0 ? undefined : end).filter((one) => one !== undefined);
}

async function run(
  file: string,
  args: readonly string[],
  { folder, env }: { folder: string; env: NodeJS.ProcessEnv },
): Promise<{ ok: boolean; said: string }> {
  try {
    await promisify(execFile)(file, args, { cwd: folder, env, timeout: DEADLINE_MS });
    return { ok: true, said: "" };
  } catch (error) {
    return { ok: false, said: (error as { stderr?: string }).stderr?.trim() ?? "" };
  }
}

/** What a buildpack says ends in the next step. */
function toFailure(said: string, app: string): Failure {
  const [, what = said, next] = /^([^]*?)\. Next: ([^]+)$/.exec(said) ?? [];
  const again = /push again|push the app|cup push/.test(next ?? "") ? "" : `, then: cup push ${app}`;
  return new Failure(`${app} cannot be built here: ${what}`, { next: `${next ?? "see cup doctor"}${again}` });
}
