// Deletes whatever of our kinds has finalizers, while its controllers run, and waits for the end: without them no finalizer goes, and no kind.
import { setTimeout as delay } from "node:timers/promises";
import { DEFINITIONS } from "../crds/definitions.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isNotFound } from "../kube/client/errors.ts";
import { watchBlockers } from "./deletion-blockers.ts";
import { byCause, countKinds, describeBlocker, planDeletions, toProgress, type Remaining } from "./deletion-plan.ts";

/** Objects that are named; the rest is counted. */
const MAX_NAMED = 20;

export interface DeletionTimes {
  pollMs: number;
  /** Whatever has not ended for so long is named, with its reason. */
  nameMs: number;
  /** Without any change for so long it gives up. */
  stallMs: number;
  /** It gives up in any case. */
  deadlineMs: number;
}

/** All ends before the Job is killed (templates/settings.yaml), so that its log says what was left. */
export const DELETION_TIMES: DeletionTimes = { pollMs: 1_000, nameMs: 10_000, stallMs: 120_000, deadlineMs: 540_000 };

/** @throws Error that names what is left, and why, when nothing changes any more or the time is over */
export async function deleteData(
  client: KubeClient,
  { pollMs, nameMs, stallMs, deadlineMs }: DeletionTimes,
  report: (line: string) => void,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  const state = { progress: "", changedAt: Date.now(), said: "" };
  const nameBlockers = watchBlockers(client, nameMs, report);
  for (;;) {
    const remaining = await listRemaining(client, report);
    if (remaining?.length === 0) return;
    if (remaining) {
      note(remaining, state, report);
      await deleteSome(client, planDeletions(remaining), report);
      await nameBlockers(remaining);
    }
    const unchangedMs = Date.now() - state.changedAt;
    if (unchangedMs > stallMs || Date.now() > deadline)
      throw new Error(await describeAll(client, remaining ?? [], Math.round(unchangedMs / 1000)));
    await delay(pollMs);
  }
}

/** Remembers when something changed, and says once what is left. */
function note(
  remaining: readonly Remaining[],
  state: { progress: string; changedAt: number; said: string },
  report: (line: string) => void,
): void {
  const progress = toProgress(remaining);
  if (progress !== state.progress) Object.assign(state, { progress, changedAt: Date.now() });
  const line = `waiting for the end of ${countKinds(remaining)}`;
  if (line !== state.said) report(line);
  state.said = line;
}

/** Undefined when the API server does not answer; it is asked again. */
async function listRemaining(client: KubeClient, report: (line: string) => void): Promise<Remaining[] | undefined> {
  try {
    const lists = await Promise.all(DEFINITIONS.map((ref) => listOfKind(client, ref)));
    return lists.flat();
  } catch (error) {
    report(`${String(error)}; trying again`);
    return undefined;
  }
}

async function listOfKind(client: KubeClient, ref: ResourceRef): Promise<Remaining[]> {
  try {
    const { items } = await client.list(ref, { metadata: true });
    return items.filter(({ metadata }) => metadata.finalizers?.length).map(({ metadata }) => ({ ref, metadata }));
  } catch (error) {
    // The kind is gone already: an uninstallation that is repeated.
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function deleteSome(
  client: KubeClient,
  objects: readonly Remaining[],
  report: (line: string) => void,
): Promise<void> {
  for (const { ref, metadata } of objects)
    await client.delete(ref, metadata).catch((error: unknown) => {
      if (!isNotFound(error)) report(`${ref.kind} ${metadata.name}: ${String(error)}; trying again`);
    });
}

async function describeAll(client: KubeClient, remaining: readonly Remaining[], seconds: number): Promise<string> {
  const named = byCause(remaining).slice(0, MAX_NAMED);
  const lines = await Promise.all(
    named.map(async ({ ref, metadata }) => {
      const object = await client.find(ref, metadata).catch(() => undefined);
      return object && describeBlocker(ref, object);
    }),
  );
  const more = remaining.length - named.length;
  return [
    `the data does not end: ${countKinds(remaining) || "the API server does not answer"} left, and nothing has changed for ${seconds} s`,
    ...lines.filter((line) => line !== undefined),
    ...(more > 0 ? [`and ${more} more`] : []),
    "Nothing else has been removed. Then repeat: helm uninstall",
  ].join("\n");
}
