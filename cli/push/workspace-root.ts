// The workspace of npm or pnpm that a pushed folder belongs to: a package of it that needs another is pushed with the whole.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { Failure } from "../failure.ts";
import { quoteForShell } from "../shell-words.ts";

/** Folders above the pushed one that are looked at. */
const HIGHEST = 6;
const NEEDS_OTHERS = /^(?:correct the name of \S+ in package\.json|push the workspace whole)/;

/** The same error, with the push of the whole workspace as its next step, where a package alone lacks another one of its workspace. */
export function withWorkspace(error: unknown, pushed: { app: string; folder: string }): unknown {
  if (!(error instanceof Failure) || error.next === undefined || !NEEDS_OTHERS.test(error.next)) return error;
  const root = findWorkspaceRoot(resolve(pushed.folder));
  if (root === undefined) return error;
  const { kind, log, message } = error;
  const app = quoteForShell(pushed.app);
  const member = quoteForShell(relative(root, resolve(pushed.folder)));
  const path = quoteForShell(relative(process.cwd(), root) || ".");
  const next = `push the whole workspace: cup set-env ${app} BP_NODE_PROJECT_PATH ${member} && cup push ${app} --path ${path}`;
  return new Failure(message, { kind, log, next, cause: error });
}

/** The nearest folder above that has a workspace; undefined when there is none. */
function findWorkspaceRoot(folder: string): string | undefined {
  let above = folder;
  for (let height = 0; height < HIGHEST && dirname(above) !== above; height += 1) {
    above = dirname(above);
    if (existsSync(join(above, "pnpm-workspace.yaml")) || hasWorkspaces(join(above, "package.json"))) return above;
  }
  return undefined;
}

function hasWorkspaces(file: string): boolean {
  try {
    const description: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof description === "object" && description !== null && "workspaces" in description;
  } catch {
    return false; // no file, or none that npm could read
  }
}
