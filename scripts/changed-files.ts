// Files that differ from the main branch: committed since, in the work tree, or new.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run-check.ts";
import { runCommand } from "./run-command.ts";

async function git(...args: string[]): Promise<string> {
  const { code, output } = await runCommand(["git", ...args], { cwd: root, deadlineMs: 60_000 });
  return code === 0 ? output.trim() : "";
}

export interface Changes {
  /** The commit to which the files are compared. */
  base: string;
  /** Paths from the root of those that are there. */
  files: string[];
}

/** Without git, or without a main branch, nothing but the work tree counts. */
export async function changedFiles(): Promise<Changes> {
  const base = (await git("merge-base", "HEAD", "main")) || "HEAD";
  const names = [await git("diff", "--name-only", base), await git("ls-files", "--others", "--exclude-standard")];
  const files = names.flatMap((text) => text.split("\n")).filter((path) => path && existsSync(join(root, path)));
  return { base, files };
}

export const isTypeScript = (path: string): boolean => path.endsWith(".ts");
