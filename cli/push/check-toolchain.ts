// Whether this machine can build an app, asked before anything is written or uploaded: of a laptop's own Cupola alone, whose buildpacks are known here.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundledBuildpacks, bundledFolder } from "../../backends/builders/host/bundled-buildpacks.ts";
import { hostEnvironment } from "../../backends/host/host-environment.ts";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { quoteForShell } from "../shell-words.ts";
import type { Application } from "./manifest.ts";
import { ALWAYS_IGNORED, type SourceFile } from "./pack-source.ts";

type BundledBuildpack = (typeof bundledBuildpacks)[number];

const DEADLINE_MS = 20_000;

/** Names at the top of a folder that no buildpack looks at. */
const UNSEEN = new Set([
  ...ALWAYS_IGNORED.map((pattern) => pattern.replace(/^\//, "")),
  "node_modules",
  "venv",
  ".venv",
  ".idea",
  ".vscode",
]);

/** An app's folder, and what of it is pushed. */
export interface PushedFolder {
  folder: string;
  /** The PATH of this machine's builds. */
  path: string;
  files: readonly Pick<SourceFile, "path">[];
}

/** How a program ended. Without a code it gave no answer: it could not be started, or did not end in time. */
interface Answer {
  code: number | undefined;
  said: string;
}

/** Checks the toolchain of this machine's own Cupola. Does nothing where it cannot be known. @throws Failure that names the missing toolchain and how to get it */
export async function checkToolchain(
  context: Context,
  app: Application,
  { folder, path, files }: PushedFolder,
): Promise<void> {
  if (leavesOut(await readdir(folder), files)) return;
  const env = hostEnvironment(path);
  const candidates = toCandidates(await context.api.list("/v3/buildpacks", { order_by: "position" }), app.buildpacks);
  for (const name of app.buildpacks ? candidates : await detect(untilLastChecked(candidates), { folder, env })) {
    if (!hasCheck(name)) continue;
    const check = join(bundledFolder(name), "..", "shared", "check-toolchain.mjs");
    const refusal = toRefusal(await run(process.execPath, [check, name], { folder, env }), app.name);
    if (refusal) throw refusal;
  }
}

/** Whether it looks for programs on this machine. */
function hasCheck(name: BundledBuildpack): boolean {
  return existsSync(join(bundledFolder(name), "toolchain.mjs"));
}

/** Without the last ones, which need nothing of this machine: whether they fit changes nothing. */
function untilLastChecked(candidates: readonly BundledBuildpack[]): readonly BundledBuildpack[] {
  return candidates.slice(0, candidates.findLastIndex(hasCheck) + 1);
}

/** The first that fits; none when one gave no answer, since it may be that one. */
async function detect(candidates: readonly BundledBuildpack[], where: Where): Promise<readonly BundledBuildpack[]> {
  const answers = await Promise.all(
    candidates.map((name) => run(join(bundledFolder(name), "bin", "detect"), [], where)),
  );
  if (answers.some(({ code }) => code === undefined)) return [];
  return candidates.filter((_, at) => answers[at]?.code === 0).slice(0, 1);
}

/** Whether .cfignore leaves out something at the top of the folder that could lead a buildpack astray. Pure. */
export function leavesOut(names: readonly string[], files: PushedFolder["files"]): boolean {
  const pushed = new Set(files.map(({ path }) => path.split("/", 1)[0]));
  return names.some((name) => !pushed.has(name) && !UNSEEN.has(name));
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

interface Where {
  folder: string;
  env: NodeJS.ProcessEnv;
}

async function run(file: string, args: readonly string[], { folder, env }: Where): Promise<Answer> {
  try {
    await promisify(execFile)(file, args, { cwd: folder, env, timeout: DEADLINE_MS });
    return { code: 0, said: "" };
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    return { code: typeof code === "number" ? code : undefined, said: stderr?.trim() ?? "" };
  }
}

/** Only what a buildpack says counts, and that ends in the next step: an error of the check itself refuses no push. Pure. */
export function toRefusal({ code, said }: Answer, app: string): Failure | undefined {
  const [, what, next = ""] = /^([^]*?)\. Next: ([^]+)$/.exec(said) ?? [];
  if (code !== 1 || what === undefined) return undefined;
  const again = /push again|push the app|cup push/.test(next) ? "" : `, then: cup push ${quoteForShell(app)}`;
  return new Failure(`${app} cannot be built here: ${what}`, { next: `${next}${again}` });
}
