// Running things by the usage log, and the events that bring it up to date. Pure but for its memory; one leader has one.
import {
  listOpenUsage,
  planBuildUsage,
  planProcessUsage,
  planTaskUsage,
  toUsageEvent,
  usageKey,
  type BuildUsage,
  type ProcessUsage,
  type TaskUsage,
  type UsageDraft,
} from "../../crds/usage-log/rules.ts";
import type { AppUsageEvent } from "../../crds/usage-log/usage-log.ts";

export type Usage = ProcessUsage | TaskUsage | BuildUsage;

export interface UsageLedger {
  /** Forgets everything and starts from these events, in any order. */
  load(events: readonly AppUsageEvent[]): void;
  /** The events that follow from what runs now. `version` changes with each change of the object's spec. */
  observe(now: Usage, version: string): AppUsageEvent[];
  /** The events that follow when something runs no more; `key` is its `usageKey`. */
  end(key: string): AppUsageEvent[];
  /** Keys of everything that the log says runs. */
  openKeys(): string[];
}

export function createUsageLedger(now: () => Date): UsageLedger {
  let open = new Map<string, AppUsageEvent>();
  let sequence = 0;

  const place = (key: string, drafts: readonly UsageDraft[], version: string): AppUsageEvent[] =>
    drafts.map((draft) => {
      const event = toUsageEvent(draft, { open: open.get(key), version, sequence: ++sequence, now: now() });
      const isOpen = listOpenUsage([event]).size > 0;
      if (isOpen) open.set(key, event);
      else open.delete(key);
      return event;
    });

  return {
    load(events) {
      open = listOpenUsage(events);
      sequence = events.reduce((last, event) => Math.max(last, event.sequence), 0);
    },
    observe(usage, version) {
      const key = usageKey(usage);
      return place(key, planUsage(open.get(key), usage), version);
    },
    end(key) {
      const started = open.get(key);
      return started ? place(key, planEnd(started), "") : [];
    },
    openKeys: () => [...open.keys()],
  };
}

function planUsage(open: AppUsageEvent | undefined, usage: Usage): UsageDraft[] {
  if ("process" in usage) return planProcessUsage(open, usage);
  return "task" in usage ? planTaskUsage(open, usage) : planBuildUsage(open, usage);
}

function planEnd(open: AppUsageEvent): UsageDraft[] {
  if (open.process) return planProcessUsage(open, undefined);
  return open.task ? planTaskUsage(open, undefined) : planBuildUsage(open, undefined);
}
