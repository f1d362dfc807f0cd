// A quota's refusal gets the quota, what is left of it, and the command that fits: the one place for all commands.
import type { Process } from "../app/process-state.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { adviseQuota, findQuotaRefusal, FREE_SOME, type WantedSize } from "./refusal.ts";

/** The app and the command that a person types again. */
export interface Asked extends Pick<WantedSize, "command" | "after"> {
  app: string;
  process?: string;
  /** Undefined: as many as there are. */
  instances?: number | undefined;
  /** It runs beside the app: nothing that runs gives its room to it. */
  isExtra?: boolean;
  /** The next step where no other size helps. */
  next?: string;
}

/** @throws Failure with the next step after a quota's refusal; any other failure as it is */
export async function withQuotaAdvice<T>(context: Context, asked: Asked, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw (error instanceof Failure && (await toQuotaFailure(context, asked, error))) || error;
  }
}

/** Undefined for a failure that is no quota's refusal, that has a next step already, or whose quota the person may not read. */
export async function toQuotaFailure(context: Context, asked: Asked, error: Failure): Promise<Failure | undefined> {
  const { message, refusal, next } = error;
  if (error.kind !== "failed" || next !== undefined) return undefined;
  if (TASKS_FULL.test(message))
    return new Failure(message, { next: `cup tasks ${asked.app}, and wait until one ends`, refusal, cause: error });
  const byQuota = findQuotaRefusal(message);
  if (!byQuota) return undefined;
  const wanted = await readWanted(context, asked).catch(() => undefined);
  const advice = wanted && (await adviseQuota(context, byQuota, wanted).catch(() => undefined)); // without the quota's sizes the refusal is enough
  const step = asked.next ?? advice?.next ?? FREE_SOME;
  return new Failure(advice ? `${message} (${advice.quota})` : message, { next: step, refusal, cause: error });
}

/** Names neither the space nor the org. */
const TASKS_FULL = /app_task_limit quota exceeded/;

const NOTHING = { instances: 0, memoryMB: 0 };

async function readWanted(context: Context, asked: Asked): Promise<WantedSize> {
  const { command, after } = asked;
  if (asked.isExtra) return { command, ...(after && { after }), instances: 1, held: NOTHING };
  const app = await context.app(asked.app);
  const process = await context.api.request<Process>("GET", `/v3/apps/${app.guid}/processes/${asked.process ?? "web"}`);
  const { instances, memory_in_mb: memoryMB } = process;
  return {
    command,
    ...(after && { after }),
    instances: asked.instances ?? instances,
    isCountAsked: asked.instances !== undefined,
    held: app["state"] === "STARTED" ? { instances, memoryMB } : NOTHING,
  };
}
