// Waits while a service broker works, and tells what it says meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { LastOperation } from "./instance.ts";

export interface WaitOptions {
  /** Commander's `--no-wait` makes it false. */
  wait?: boolean;
}

interface Operation {
  /** URL of the job; undefined where the answer is already the end. */
  job: string | undefined;
  /** The object whose `last_operation` tells how far the broker is. */
  path: string;
  /** The next step when it fails, or lasts too long. */
  next: string;
  deadlineMs?: number;
}

const POLL_MS = 200;
const MAX_POLL_MS = 2000;
const DEADLINE_MS = 3_600_000;

/** @throws Failure with the broker's words, or when it has not ended before the deadline */
export async function followOperation(
  { api, progress }: Pick<Context, "api" | "progress">,
  { job, path, next, deadlineMs = DEADLINE_MS }: Operation,
): Promise<void> {
  if (job === undefined) return;
  const deadline = Date.now() + deadlineMs;
  let told = "";
  for (let pause = POLL_MS; !(await hasEnded(api, job, next)); pause = Math.min(pause * 1.5, MAX_POLL_MS)) {
    if (Date.now() > deadline)
      throw new Failure(`the broker has not ended in ${Math.round(deadlineMs / 1000)} s, and goes on`, { next });
    const said = await readDescription(api, path);
    if (said !== "" && said !== told) progress.line(said);
    told = said;
    await delay(pause);
  }
}

async function hasEnded(api: Context["api"], job: string, next: string): Promise<boolean> {
  const { state, errors = [] } = await api.request<{ state: string; errors?: { detail: string }[] }>("GET", job);
  if (state !== "FAILED") return state === "COMPLETE";
  throw new Failure(errors.map(({ detail }) => detail).join("; ") || "the job failed", { next });
}

/** Empty where the object is gone, or the broker says nothing. */
async function readDescription(api: Context["api"], path: string): Promise<string> {
  try {
    const { last_operation: last } = await api.request<{ last_operation: LastOperation | null }>("GET", path);
    return last?.state === "in progress" ? last.description : "";
  } catch (error) {
    if (error instanceof Failure && error.kind === "failed") return "";
    throw error;
  }
}
