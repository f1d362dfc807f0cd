// node_modules of a production install, made apart from the checkout's own and kept in the cache by lockfile.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache-root.ts";
import { runCommand } from "../run-command.ts";

const MANIFESTS = ["package.json", "package-lock.json"] as const;
const DEADLINE_MS = 5 * 60_000;

/** Folder of the modules, without those for development and without the Node binaries. @param checkout has package.json and its lockfile. @throws Error with npm's output */
export async function provideProductionModules(checkout: string): Promise<string> {
  const digest = createHash("sha256").update(process.arch);
  for (const name of MANIFESTS) digest.update(readFileSync(join(checkout, name)));
  const folder = join(cacheRoot(), "node-modules", digest.digest("hex").slice(0, 16));
  if (!existsSync(folder)) await installInto(folder, checkout);
  return join(folder, "node_modules");
}

async function installInto(folder: string, checkout: string): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  const temp = mkdtempSync(`${folder}-`);
  try {
    for (const name of MANIFESTS) copyFileSync(join(checkout, name), join(temp, name));
    // No scripts: none of ours needs one, and an image is no place for what they might leave.
    const flags = ["--omit=dev", "--omit=optional", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    const { code, output } = await runCommand(["npm", "ci", ...flags], { cwd: temp, deadlineMs: DEADLINE_MS });
    if (code !== 0) throw new Error(`npm ci failed; is the npm registry reachable?\n${output.slice(-2000)}`);
    renameSync(temp, folder);
  } catch (error) {
    // Another process may have been faster; its modules are as good.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}
