// How far an operation is that a broker goes on with by itself. It is asked at most as often as it wants, and as long as the plan allows.
import { askBroker } from "./ask-broker.ts";
import { isOverdue, nextPollMs } from "./operation-status.ts";
import { toProgress, type Progress } from "./outcomes.ts";
import { isBrokerMissing, type Provided } from "./provided.ts";
import { notInTime } from "./ready.ts";

export type Polled =
  | { state: "succeeded"; description: string }
  | { state: "failed"; why: string }
  | { state: "in progress"; delayMs: number; description: string | undefined };

/** @param since when the operation began @throws NotReady while the broker is at its concurrency limit */
export async function askProgress(
  work: Provided,
  { type, since }: { type: "create" | "update" | "delete"; since: string },
): Promise<Polled> {
  const { context, memory, guid, maximumSeconds } = work;
  const waitMs = memory.waitMs(guid, { createdAt: since }, context.now());
  if (waitMs > 0) return { state: "in progress", delayMs: waitMs, description: undefined };
  const progress = await readProgress(work, type);
  const now = context.now();
  if (progress.state !== "in progress") memory.forget(guid);
  if (progress.state === "failed") return { state: "failed", why: progress.description };
  if (progress.state === "succeeded") return { state: "succeeded", description: progress.description };
  if (isOverdue({ since, maximumSeconds }, now)) return { state: "failed", why: notInTime(work, type) };
  const delayMs = waitToPoll(work, { since, retryAfterSeconds: progress.retryAfterSeconds }, now);
  return { state: "in progress", delayMs, description: progress.description };
}

/** Milliseconds until the broker is asked about an operation that began at `since`. Remembered, as the write of a status is an event, which comes earlier. */
export function waitToPoll(
  { memory, guid, maximumSeconds }: Provided,
  { since, retryAfterSeconds }: { since: string; retryAfterSeconds: number | undefined },
  now: Date,
): number {
  const delayMs = nextPollMs({ since, maximumSeconds }, retryAfterSeconds, now);
  memory.set(guid, { createdAt: since }, now.getTime() + delayMs);
  return delayMs;
}

/** A broker that cannot be asked has said nothing. */
async function readProgress(work: Provided, type: "create" | "update" | "delete"): Promise<Progress> {
  const { provided, requests, operation } = work;
  try {
    return toProgress(type, await askBroker(provided, () => requests.poll(operation?.id), work));
  } catch (error) {
    if (!isBrokerMissing(error)) throw error;
    return { state: "in progress", description: error.message, retryAfterSeconds: undefined };
  }
}
