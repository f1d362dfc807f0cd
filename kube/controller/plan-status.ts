// Plans the status patch of a reconcile. Pure: the time is an argument.
import { isDeepStrictEqual } from "node:util";
import type { ConditionDraft } from "./controller.ts";
import { mergeDiffNamed } from "../api/merge-diff.ts";
import type { Condition, KubeObject } from "../api/object.ts";
import { toTime } from "../api/times.ts";

export interface PlanStatusInput {
  object: KubeObject;
  /** As in ReconcileResult. */
  status?: Readonly<Record<string, unknown>> | undefined;
  conditions: readonly ConditionDraft[];
  /** Whether to write status.observedGeneration. */
  writesObservedGeneration: boolean;
  now: Date;
}

/** The body of a merge patch on /status, or undefined without a difference. */
export function planStatus({
  object,
  status,
  conditions,
  writesObservedGeneration,
  now,
}: PlanStatusInput): Record<string, unknown> | undefined {
  const live = (object["status"] ?? {}) as Record<string, unknown>;
  const generation = object.metadata.generation;
  const patch =
    mergeDiffNamed(live, {
      ...status,
      ...(writesObservedGeneration && generation !== undefined && { observedGeneration: generation }),
    }) ?? {};
  const before = (live["conditions"] ?? []) as Condition[];
  const after = mergeConditions(before, conditions, { generation, now });
  if (after !== before) patch["conditions"] = after;
  if (Object.keys(patch).length === 0) return undefined;
  // The patch replaces the whole list, so it carries resourceVersion to keep other writers' conditions.
  return after === before
    ? { status: patch }
    : { metadata: { resourceVersion: object.metadata.resourceVersion }, status: patch };
}

/** Merges the drafts into the list; returns the same list when nothing changes. lastTransitionTime changes only with the status. */
function mergeConditions(
  before: readonly Condition[],
  drafts: readonly ConditionDraft[],
  at: { generation: number | undefined; now: Date },
): readonly Condition[] {
  const after = [...before];
  let changed = false;
  for (const { type, status, reason, message } of drafts) {
    const index = after.findIndex((condition) => condition.type === type);
    const old = after[index];
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : toTime(at.now);
    const condition: Condition = {
      type,
      status,
      reason,
      message,
      lastTransitionTime,
      ...(at.generation !== undefined && { observedGeneration: at.generation }),
    };
    if (isDeepStrictEqual(old, condition)) continue;
    if (index < 0) after.push(condition);
    else after[index] = condition;
    changed = true;
  }
  return changed ? after : before;
}
