// `cup run`: one command in an app's droplet, with its output, until it ends.
import { setTimeout as delay } from "node:timers/promises";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Json, Resource } from "../api/client.ts";
import { followLog, type LogLine } from "../app/log-stream.ts";
import { toMegabytes } from "../app/to-megabytes.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { withQuotaAdvice, type Asked } from "../quota/with-quota-advice.ts";
import { printOutput, type Result } from "../output.ts";
import { quoteForShell, toCommandLine } from "../shell-words.ts";

export interface RunOptions {
  name?: string;
  memory?: string;
  disk?: string;
  process?: string;
  detach?: boolean;
}

const POLL_MS = 250;
/** Lines may come this long before the platform's clock and ours agree that the task was made. */
const CLOCK_SKEW_NS = 60n * 1_000_000_000n;

/** `words` are one line for a shell, or a program and its arguments. Without any the process `--process` gives the command. A command that fails gives `cup` its exit status. */
export async function runTask(
  context: Context,
  appName: string,
  words: readonly string[],
  options: RunOptions,
): Promise<Result> {
  if (words.length === 0 && options.process === undefined)
    throw new Failure("what should run?", { kind: "usage", next: `cup run ${appName} -- ls -l` });
  const app = await context.app(appName);
  const before = BigInt(Date.now()) * 1_000_000n - CLOCK_SKEW_NS;
  const body = await toBody(context, app, words, options);
  const task = await withQuotaAdvice(context, toAsked(appName, words, options), () =>
    context.api.request<Task>("POST", `/v3/apps/${app.guid}/tasks`, { body }),
  );
  const id = String(task.sequence_id);
  if (options.detach)
    return { json: task, text: [`Task ${id} (${task.name}) of ${appName} runs. Next: cup tasks ${appName}`] };
  context.progress.step(`Task ${id} (${task.name}) of ${appName} runs; Ctrl-C leaves it running`);
  const ended = await follow(context, app, { task, since: before });
  if (ended.state === "SUCCEEDED") return { json: ended, text: [] };
  const reason = ended.result.failure_reason ?? "no reason given";
  throw new Failure(`task ${id} failed: ${reason}`, {
    next: `cup logs ${appName} --recent`,
    ...omitUndefined({ exitCode: exitStatusIn(reason) }),
  });
}

function toAsked(app: string, words: readonly string[], { process }: RunOptions): Asked {
  const command = `cup run ${quoteForShell(app)}${process ? ` --process ${quoteForShell(process)}` : ""}`;
  return { app, command, after: words.length > 0 ? ` -- ${words.map(quoteForShell).join(" ")}` : "", isExtra: true };
}

/** Undefined when the task ended otherwise: cancelled, out of memory, or never begun. */
function exitStatusIn(reason: string): number | undefined {
  const status = Number(/(?:^|: )Exited with status (\d+)$/.exec(reason)?.[1] ?? 0);
  return status > 0 ? status : undefined;
}

interface Task extends Resource {
  sequence_id: number;
  state: string;
  result: { failure_reason: string | null };
}

async function toBody(
  context: Context,
  app: Resource,
  words: readonly string[],
  { name, memory, disk, process }: RunOptions,
): Promise<Json> {
  const template = process && (await context.api.request<Resource>("GET", `/v3/apps/${app.guid}/processes/${process}`));
  return omitUndefined({
    command: words.length > 0 ? toCommandLine(words) : undefined,
    name,
    memory_in_mb: memory && toMegabytes(memory),
    disk_in_mb: disk && toMegabytes(disk),
    template: template && { process: { guid: template.guid } },
  });
}

/** Prints the task's output as it comes, and returns the task once it has ended. */
async function follow(
  { api, progress }: Context,
  app: Resource,
  { task, since }: { task: Task; since: bigint },
): Promise<Task> {
  const over = new AbortController();
  const printing = (async (): Promise<void> => {
    for await (const line of followLog(api, app.guid, { since, signal: over.signal })) print(line, task);
  })().catch(() => progress.step("The task's output cannot be read any more; the task goes on"));
  try {
    for (;;) {
      const now = await api.request<Task>("GET", `/v3/tasks/${task.guid}`);
      if (now.state === "SUCCEEDED" || now.state === "FAILED") return now;
      await delay(POLL_MS);
    }
  } finally {
    over.abort();
    await printing;
  }
}

function print({ source, type, message, timestamp }: LogLine, task: Task): void {
  const createdAt = BigInt(Date.parse(String(task["created_at"]))) * 1_000_000n;
  // Earlier tasks may have had the same name.
  if (source !== `APP/TASK/${task.name}/0` || timestamp < createdAt) return;
  printOutput(type === "ERR" ? process.stderr : process.stdout, message);
}
