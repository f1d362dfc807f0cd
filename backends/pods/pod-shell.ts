// A program that somebody runs beside an instance in a pod, by `cf ssh`: by `pods/exec` in the instance's container, as the platform's own account.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { LABELS } from "../../crds/labels.ts";
import { Pod } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isNotFound } from "../../kube/client/errors.ts";
import { execInPod, type PodExec, type PodExecEnd } from "../../kube/client/pod-exec.ts";
import { InstanceAway, type OpenRemoteProcess, type RemoteExit, type RemoteProcess } from "../remote-process.ts";
import { keepCommand, runCommand } from "./pod-shell-script.ts";

/** For each request to the API server. */
const REQUEST_MS = 15_000;
/** Until a program says that it runs: a busy node takes its time. */
const START_MS = 30_000;
/** For the end of a session's processes; longer than the rounds of the script. */
const END_MS = 15_000;
/** The command is part of a URL. */
const MAX_COMMAND = 64 * 1024;
const CONTAINER = "application";

type PodShellClient = Pick<KubeClient, "list" | "webSocket">;

export function openInPod(client: PodShellClient, { startMs = START_MS, endMs = END_MS } = {}): OpenRemoteProcess {
  return async ({ lrp, index, command, terminal }) => {
    if ((command?.length ?? 0) > MAX_COMMAND)
      throw new InstanceAway("The command has more than 64 KiB. Send it as input of a shell.");
    const place = { ...(await findPod(client, lrp, index)), container: CONTAINER };
    const mark = randomUUID();
    const session = { mark, dropletKind: lrp.spec.droplet.kind, command, terminal };
    const keeper = await connect(client, { ...place, command: keepCommand(mark), tty: false });
    let program: PodExec | undefined;
    try {
      // The keeper runs first, so that it ends a program whose start fails, too.
      await waitUntilUp(keeper, startMs);
      program = await connect(client, { ...place, command: runCommand(session), tty: terminal !== undefined });
      await waitUntilUp(program, startMs);
    } catch (error) {
      await endFailed(keeper, program, endMs);
      throw error;
    }
    if (terminal) program.resize(terminal);
    return toRemoteProcess(keeper, program, endMs);
  };
}

/** The pod that the runner has named as the instance, if it is still there. @throws InstanceAway */
async function findPod(client: PodShellClient, lrp: LRP, index: number): Promise<{ namespace: string; pod: string }> {
  const { namespace = "", name } = lrp.metadata;
  const uid = lrp.status?.instances?.find((instance) => instance.index === index)?.guid;
  const options = { namespace, labelSelector: `${LABELS.lrp}=${name}`, metadata: true, deadlineMs: REQUEST_MS };
  const pods = await client.list(Pod, options).catch((error: unknown) => {
    // The right comes with the space, and the API server learns of it later.
    if (isForbidden(error)) throw new InstanceAway("The platform may not open shells in this space yet. Try again.");
    throw error;
  });
  const found = pods.items.find(({ metadata }) => metadata.uid === uid && !metadata.deletionTimestamp);
  if (!found) throw new InstanceAway(`Instance ${index} is not running in this cluster.`);
  return { namespace, pod: found.metadata.name };
}

/** @throws InstanceAway when the instance has ended */
function connect(client: PodShellClient, request: Parameters<typeof execInPod>[1]): Promise<PodExec> {
  return execInPod(client, request, { deadlineMs: REQUEST_MS }).catch((error: unknown) => {
    if (isNotFound(error)) throw new InstanceAway("The instance has ended.");
    throw error;
  });
}

/** @throws InstanceAway when the program cannot run, and the person can do something about it */
async function waitUntilUp({ stdout, ended }: PodExec, startMs: number): Promise<void> {
  const isUp = once(stdout, "readable").then(
    () => stdout.read(1) !== null,
    () => false,
  );
  const late = delay(startMs, "late" as const, { ref: false });
  const first = await Promise.race([isUp, ended.then(() => false), late]);
  if (first === true) return;
  throw toStartError(first === "late" ? { failure: `the program did not start within ${startMs} ms` } : await ended);
}

function toStartError(end: PodExecEnd): Error {
  const failure = "failure" in end ? end.failure : `it ended at once with ${end.code}`;
  return /no such file or directory|executable file not found/.test(failure)
    ? new InstanceAway("The app's image has no /bin/sh, which cf ssh needs.")
    : new Error(`the shell in the container did not start: ${failure}`);
}

function toRemoteProcess(keeper: PodExec, program: PodExec, endMs: number): RemoteProcess {
  keeper.stdout.resume();
  keeper.stderr?.resume();
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  return {
    stdin: program.stdin,
    stdout: program.stdout,
    stderr: program.stderr,
    exited: program.ended.then(toExit),
    resize: program.resize,
    end() {
      ending ??= endAll(keeper, program, endMs).finally(() => resolve(closeKeeper(keeper, endMs)));
      return ending;
    },
    gone,
  };
}

/** Waits for a program that may start yet: once the keeper has ended, nothing would end it. */
async function endFailed(keeper: PodExec, program: PodExec | undefined, endMs: number): Promise<void> {
  // An output that nobody reads would hold up the news of the end.
  for (const output of [keeper.stdout, keeper.stderr, program?.stdout, program?.stderr]) output?.destroy();
  await waitForEnd([keeper, program], endMs);
  await endAll(keeper, program, endMs);
  await closeKeeper(keeper, endMs);
}

/** The keeper ends the session's processes when its input ends. */
async function endAll(keeper: PodExec, program: PodExec | undefined, endMs: number): Promise<void> {
  keeper.stdin.end();
  // The program's own shell has ended what it left.
  await waitForEnd([keeper, program], endMs);
  program?.close();
}

/** Closes the keeper's connection, also where the session has stopped the keeper so that it never ends. */
async function closeKeeper(keeper: PodExec, endMs: number): Promise<void> {
  await waitForEnd([keeper], endMs);
  keeper.close();
}

/** Resolves when the first of them has ended, and after `endMs` at the latest. */
async function waitForEnd(execs: readonly (PodExec | undefined)[], endMs: number): Promise<void> {
  const ends = execs.flatMap((exec) => (exec ? [exec.ended] : []));
  await Promise.race([...ends, delay(endMs, undefined, { ref: false })]);
}

/** A shell's 128 + signal stays the number that it is. */
function toExit(end: PodExecEnd): RemoteExit {
  return "code" in end ? { code: end.code } : {};
}
