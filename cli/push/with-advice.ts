// A refusal of the API gets its next step: the one place for `cup push` and `cup scale`.
import type { Process } from "../app/process-state.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { lacksRole } from "../missing-role.ts";
import { adviseQuota, findQuotaRefusal, type QuotaAdvice, type QuotaRefusal } from "../quota/refusal.ts";
import { adviseRefusal } from "./advice.ts";

/** The app and the command that a person types again. */
export interface Asked {
  app: string;
  command: string;
  process?: string;
  /** Undefined: as many as there are. */
  instances?: number | undefined;
}

/** @throws Failure with the next step */
export async function withAdvice<T>(context: Context, asked: Asked, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "failed" || error.next !== undefined || lacksRole(error))
      throw error;
    throw await advise(context, asked, error);
  }
}

async function advise(context: Context, asked: Asked, error: Failure): Promise<Failure> {
  const { message, refusal } = error;
  const byQuota = findQuotaRefusal(message);
  const advice = byQuota && (await adviseSizes(context, asked, byQuota).catch(() => undefined)); // without the quota's sizes the refusal is enough
  const next = advice?.next ?? adviseRefusal({ app: asked.app, message, lines: [] });
  return new Failure(advice ? `${message} (${advice.quota})` : message, { next, refusal, cause: error });
}

async function adviseSizes(context: Context, asked: Asked, byQuota: QuotaRefusal): Promise<QuotaAdvice | undefined> {
  const app = await context.app(asked.app);
  const process = await context.api.request<Process>("GET", `/v3/apps/${app.guid}/processes/${asked.process ?? "web"}`);
  const isCounted = app["state"] === "STARTED";
  return adviseQuota(context, byQuota, {
    command: asked.command,
    instances: asked.instances ?? process.instances,
    isCountAsked: asked.instances !== undefined,
    held: isCounted ? { instances: process.instances, memoryMB: process.memory_in_mb } : { instances: 0, memoryMB: 0 },
  });
}
