// Waits for the controllers: the Ready condition of an object that was just written.
import { setTimeout as delay } from "node:timers/promises";
import type { Condition, KubeObject } from "../../kube/api/object.ts";

interface Reconciled extends KubeObject {
  status?: { observedGeneration?: number; conditions?: Condition[] };
}

/** `isDone`: false while the condition says that the work goes on. */
export interface AwaitReadyOptions {
  deadlineMs: number;
  isDone?: (ready: Condition) => boolean;
}

/** The Ready condition once it is about the present spec and done; `done` is false at the deadline, with the condition of that moment. */
export async function awaitReady(
  read: () => Promise<Reconciled | undefined>,
  { deadlineMs, isDone = () => true }: AwaitReadyOptions,
): Promise<{ done: boolean; ready: Condition | undefined }> {
  const deadline = Date.now() + deadlineMs;
  for (let pause = 50; ; pause = Math.min(pause * 2, 1_000)) {
    const ready = findCurrentReady(await read());
    if (ready && isDone(ready)) return { done: true, ready };
    if (Date.now() > deadline) return { done: false, ready };
    await delay(pause);
  }
}

function findCurrentReady(object: Reconciled | undefined): Condition | undefined {
  if (!object || (object.status?.observedGeneration ?? 0) < (object.metadata.generation ?? 0)) return undefined;
  return object.status?.conditions?.find(({ type }) => type === "Ready");
}
