// The Node binary of an image: the checkout's own, or npm's package for another processor, kept in the cache.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache-root.ts";
import { runCommand } from "../run-command.ts";
import { nodeArch, type Processor } from "./processor.ts";

const DEADLINE_MS = 5 * 60_000;

/** Path of the binary. @throws Error that says what is missing */
export async function provideNode(checkout: string, processor: Processor): Promise<string> {
  const name = `node-linux-${nodeArch(processor)}`;
  const own = join(checkout, "node_modules", name, "bin", "node");
  if (existsSync(own)) return own;
  const { optionalDependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const version = optionalDependencies[name] ?? "";
  const folder = join(cacheRoot(), "node-binaries", `${name}-${version}`);
  if (!existsSync(folder)) await download(`${name}@${version}`, folder);
  return join(folder, "package", "bin", "node");
}

async function download(what: string, folder: string): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  const temp = mkdtempSync(`${folder}-`);
  try {
    const tarball = (await run(["npm", "pack", what, "--silent"], temp)).trim().split("\n").at(-1) ?? "";
    await run(["tar", "-xzf", tarball], temp);
    rmSync(join(temp, tarball));
    renameSync(temp, folder);
  } catch (error) {
    // Another process may have been faster; its binary is as good.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

async function run(command: [string, ...string[]], cwd: string): Promise<string> {
  const { code, output } = await runCommand(command, { cwd, deadlineMs: DEADLINE_MS });
  if (code !== 0)
    throw new Error(`${command.join(" ")} failed; is the npm registry reachable?\n${output.slice(-2000)}`);
  return output;
}
