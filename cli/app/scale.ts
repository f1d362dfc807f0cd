// `cup scale`: instances at once; sizes by a restart.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Json } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { withAdvice } from "../push/with-advice.ts";
import { quoteForShell } from "../shell-words.ts";
import { toMegabytes } from "./to-megabytes.ts";
import { waitUntilRunning } from "./wait-running.ts";

export interface ScaleOptions {
  instances?: number;
  memory?: string;
  disk?: string;
  process: string;
}

export async function scale(context: Context, name: string, options: ScaleOptions): Promise<Result> {
  const { instances, memory, disk } = options;
  const body: Json = omitUndefined({
    instances,
    memory_in_mb: memory && toMegabytes(memory),
    disk_in_mb: disk && toMegabytes(disk),
  });
  if (Object.keys(body).length === 0)
    throw new Failure("what should change?", { kind: "usage", next: `cup scale ${name} --instances 2` });
  const app = await context.app(name);
  const path = `/v3/apps/${app.guid}/processes/${options.process}/actions/scale`;
  const asked = { app: name, command: toCommand(name, options.process), process: options.process, instances };
  const process = await withAdvice(context, asked, () => context.api.request("POST", path, { body }));
  const resized = Boolean(memory ?? disk);
  const isStarted = app["state"] === "STARTED";
  if (isStarted && resized) {
    context.progress.step(`Restarting ${name} with its new size`);
    await context.api.request("POST", `/v3/apps/${app.guid}/actions/restart`);
  }
  if (isStarted && (resized || instances !== 0)) await waitUntilRunning(context, app);
  return {
    json: process,
    text: [tellScaled(`${name} ${options.process}`, Number(process["instances"]), Number(process["memory_in_mb"]))],
  };
}

function toCommand(name: string, process: string): string {
  return `cup scale ${quoteForShell(name)}${process === "web" ? "" : ` --process ${quoteForShell(process)}`}`;
}

/** The last line of the command. Pure. */
export function tellScaled(what: string, instances: number, memoryMB: number): string {
  return `${what}: ${instances} ${instances === 1 ? "instance" : "instances"} of ${memoryMB}M.`;
}
