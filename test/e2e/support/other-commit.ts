// Another commit of this repository, in a folder of its own: what an upgrade begins with.
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const INSTALL_MS = 5 * 60_000;

/** Its path; undefined where git does not have it, as in a shallow clone. It shares the dependencies of this checkout where it wants the same. */
export async function checkOut(parent: string, revision: string): Promise<string | undefined> {
  const folder = join(parent, "other-commit");
  mkdirSync(folder);
  const script = 'git rev-parse --quiet --verify "$1^{commit}" && git archive "$1" | tar -x -C "$0"';
  const command = ["bash", "-o", "pipefail", "-c", script, folder, revision] as const;
  const { code, output } = await runCommand([...command], { cwd: CHECKOUT, deadlineMs: 60_000 });
  if (code !== 0) {
    console.log(`the upgrade begins with this commit, since git has no ${revision}: ${output.trim()}`);
    return undefined;
  }
  await provideDependencies(folder);
  return folder;
}

async function provideDependencies(folder: string): Promise<void> {
  const [own, wanted] = [CHECKOUT, folder].map((checkout) => readFileSync(join(checkout, "package-lock.json"), "utf8"));
  if (own === wanted) return symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  const { code, output } = await runCommand(["npm", "ci", "--ignore-scripts"], { cwd: folder, deadlineMs: INSTALL_MS });
  if (code !== 0) throw new Error(`npm ci in ${folder} ended with ${code}: ${output.slice(-2000)}`);
}

/** The newest tag of a release; without one the commit before this one. */
export async function findRevisionBefore(): Promise<string> {
  const command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD~1"] as const;
  const { code, output } = await runCommand([...command], { cwd: CHECKOUT, deadlineMs: 60_000 });
  return code === 0 ? output.trim() : "HEAD~1";
}

/** The values that the chart of a checkout knows: it refuses others. */
export function keepKnownValues<T extends object>(checkout: string, chart: string, values: T): T {
  const schema = JSON.parse(readFileSync(join(checkout, chart, "values.schema.json"), "utf8")) as Schema;
  return keepKnown(values, schema) as T;
}

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}

function keepKnown(value: unknown, { properties = {}, additionalProperties }: Schema): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const known = Object.entries(value).filter(([key]) => additionalProperties !== false || key in properties);
  return Object.fromEntries(known.map(([key, member]) => [key, keepKnown(member, properties[key] ?? {})]));
}
