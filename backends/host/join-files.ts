// Gives a program the files of another that runs: it enters the mount namespace that private-files.ts made.
import { readlink } from "node:fs/promises";
import type { LaunchSpec } from "./prepare-launch.ts";
import { findTool } from "./private-files.ts";

const enterScript = 'cd "$0" || exit 126; exec "$@"';
/** A library that the app preloads is not for nsenter. */
const PRELOADS = ["LD_PRELOAD", "LD_LIBRARY_PATH"];

/** The launch, among the files of the program `pid`. @throws Error when that is gone, or nsenter is missing */
export async function joinFiles({ command, env, cwd }: LaunchSpec, pid: number): Promise<LaunchSpec> {
  if (process.platform !== "linux") return { command, env, cwd };
  const [hasOtherFiles, hasOtherUser] = await Promise.all([isOther("mnt", pid), isOther("user", pid)]);
  if (!hasOtherFiles) return { command, env, cwd };
  const nsenter = await findTool("nsenter");
  if (nsenter === undefined) throw new Error("nsenter of util-linux is missing on this machine");
  const preloads = PRELOADS.flatMap((name) => (env[name] === undefined ? [] : [`${name}=${env[name]}`]));
  return {
    command: [
      nsenter,
      ...["--target", String(pid), "--mount"],
      ...(hasOtherUser ? ["--user", "--preserve-credentials"] : []),
      ...["--", "/bin/sh", "-c", enterScript, cwd],
      ...(preloads.length > 0 ? ["/usr/bin/env", ...preloads] : []),
      ...command,
    ],
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !PRELOADS.includes(name))),
    cwd: "/",
  };
}

async function isOther(namespace: "mnt" | "user", pid: number): Promise<boolean> {
  const [own, its] = await Promise.all(["self", String(pid)].map((one) => readlink(`/proc/${one}/ns/${namespace}`)));
  return own !== its;
}
