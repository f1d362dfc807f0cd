// The commit before this one, in a folder of its own: what an upgrade begins with.
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");

/** Its path; undefined where git does not have it, as in a shallow clone. It shares the dependencies of this checkout. */
export async function checkOutPrevious(parent: string): Promise<string | undefined> {
  const folder = join(parent, "previous-commit");
  mkdirSync(folder);
  const script = 'git rev-parse --quiet --verify "HEAD~1^{commit}" && git archive HEAD~1 | tar -x -C "$0"';
  const command = ["bash", "-o", "pipefail", "-c", script, folder] as const;
  const { code, output } = await runCommand([...command], { cwd: CHECKOUT, deadlineMs: 60_000 });
  if (code !== 0) {
    console.log(`the upgrade begins with this commit, since git has no other: ${output.trim()}`);
    return undefined;
  }
  symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  return folder;
}
