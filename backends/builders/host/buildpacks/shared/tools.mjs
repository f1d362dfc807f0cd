// Finds and runs the ecosystem's own tools, each as a step with its time.
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { Problem, say } from "./log.mjs";

const MOST_ERROR_BYTES = 16_000_000;

/** The user's home, where version managers keep their versions; HOME is the build's own. Undefined for a user who is in no user database. */
export function userHome() {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}

/** The path of a program on PATH; undefined when there is none. */
export function findTool(name, path = process.env.PATH ?? "") {
  return path
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

/** As findTool. Throws with how to get the program. */
export function requireTool(name, { title, install }) {
  const found = findTool(name);
  if (found) return found;
  throw new Problem(`${title} is not installed on this machine: there is no ${name} on the PATH. Next: ${install}`);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Runs a tool with its output in the build's log. `shown` replaces the command line in the log.
 * Throws with `next` when it fails; `explain` makes `{ reason, next }` of its errors, which the log then shows at its end.
 */
export function runStep([file, ...args], { cwd, env = {}, shown, next, explain } = {}) {
  const title = shown ?? [file, ...args].join(" ");
  say(`$ ${title}`);
  const started = Date.now();
  const { status, signal, error, stderr } = spawnSync(file, args, {
    cwd,
    stdio: ["ignore", "inherit", explain ? "pipe" : "inherit"],
    encoding: "utf8",
    maxBuffer: MOST_ERROR_BYTES,
    env: { ...process.env, ...env },
  });
  if (stderr) process.stderr.write(stderr);
  if (error) throw new Problem(`${title} cannot be run: ${error.message}`);
  const known = status === 0 ? undefined : explain?.(stderr);
  const step = known?.next ?? next;
  if (status !== 0)
    throw new Problem(
      `${title} failed with status ${status ?? signal}${known?.reason ? `: ${known.reason}` : ""}${step ? `. Next: ${step}` : ""}`,
    );
  say(`done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** The output of a quick command, trimmed; undefined when it fails. */
export function outputOf([file, ...args], { cwd, env = {} } = {}) {
  const { status, stdout } = spawnSync(file, args, {
    cwd,
    encoding: "utf8",
    timeout: 60_000,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  return status === 0 ? stdout.trim() : undefined;
}
