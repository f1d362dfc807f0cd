// A program that somebody runs beside an instance, by `cf ssh`: with the instance's environment, files and cgroup, so that it ends with the instance.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { joinCgroup } from "../../host/cgroup.ts";
import { joinFiles } from "../../host/join-files.ts";
import type { LaunchSpec } from "../../host/prepare-launch.ts";
import { findProcess, trySignal } from "../../host/process-table.ts";
import { singleQuote } from "../../host/single-quote.ts";
import { type GroupLeader, killProgram } from "../../host/terminate-instance.ts";
import { InstanceAway, type RemoteProcess, type RemoteProcessRequest, type Terminal } from "../../remote-process.ts";
import { instanceFiles, type InstanceRecord } from "./instance-record.ts";
import { launchDroplet } from "./launch-droplet.ts";
import type { RunnerContext } from "./runner-context.ts";

/** Marks each process of a session, so that daemons are found, too. */
const MARK = "CUPOLA_SSH_SESSION";
/** For the profile scripts and exec.d programs of the droplet. */
const PREPARE_MS = 60_000;
/** Between SIGHUP and SIGKILL. */
const HANGUP_MS = 500;
const INTERACTIVE = "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi";

type Shell = Pick<RemoteProcessRequest, "index" | "command" | "terminal">;

/** @throws InstanceAway when the instance does not run */
export async function openInstanceShell(
  context: RunnerContext,
  { lrp, record }: { lrp: LRP; record: InstanceRecord },
  { index, command, terminal }: Shell,
): Promise<RemoteProcess> {
  const leader = record.process;
  if (!leader || (await findProcess(leader.pid))?.identity !== leader.identity)
    throw new InstanceAway(`instance ${index} is not running`);
  const { services, tmp } = instanceFiles(context.instancesDir, record.guid);
  const { processType, memoryMB } = lrp.spec;
  const launch = await launchDroplet(context, lrp, {
    processType,
    // An empty one would be the app's own.
    command: command === undefined || command === "" ? INTERACTIVE : command,
    signal: AbortSignal.timeout(PREPARE_MS),
    filesFolder: services,
    instance: { index, instanceGuid: record.guid, ports: record.ports, memoryMB, address: context.address, tmp },
  });
  const session = randomUUID();
  const inside = await joinFiles(terminal ? inTerminal(launch, terminal) : launch, leader.pid);
  return startSession(
    { ...inside, command: joinCgroup(record, inside.command), env: { ...inside.env, [MARK]: session } },
    session,
    terminal !== undefined,
  );
}

/** `script` makes the terminal; its size stays as it is at the start. */
function inTerminal({ command, env, cwd }: LaunchSpec, { term, rows, columns }: Terminal): LaunchSpec {
  const sized = `stty rows ${rows} cols ${columns} 2>/dev/null; exec ${command.map(singleQuote).join(" ")}`;
  const script =
    process.platform === "linux"
      ? ["script", "--quiet", "--return", "--flush", "--command", sized, "/dev/null"]
      : ["script", "-q", "/dev/null", "/bin/sh", "-c", sized];
  return { command: ["/usr/bin/env", ...script], env: { ...env, TERM: term, SHELL: "/bin/sh" }, cwd };
}

async function startSession(
  { command: [file = "", ...args], env, cwd }: LaunchSpec,
  session: string,
  hasTerminal: boolean,
): Promise<RemoteProcess> {
  const child = spawn(file, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  const exited = new Promise<{ code?: number; signal?: string }>((resolve) =>
    child.once("exit", (code, signal) => resolve({ ...(code !== null && { code }), ...(signal && { signal }) })),
  );
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => reject(new Error("the shell cannot be started", { cause })));
  });
  // A program that does not read any more is no fault.
  child.stdin.on("error", () => undefined);
  const pid = child.pid ?? 0;
  const leader = { pid, identity: (await findProcess(pid))?.identity ?? "gone" };
  let ending: Promise<void> | undefined;
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: hasTerminal ? undefined : child.stderr,
    exited,
    resize: () => undefined,
    end: () => (ending ??= endSession(leader, exited, session)),
  };
}

async function endSession(leader: GroupLeader, exited: Promise<unknown>, session: string): Promise<void> {
  if ((await findProcess(leader.pid))?.identity === leader.identity) {
    trySignal(-leader.pid, "SIGHUP");
    await Promise.race([exited, delay(HANGUP_MS)]);
  }
  await killProgram(leader, `${MARK}=${session}`);
}
