// Memory of brokers in this process: when an operation under way is asked about next, and answers whose status may not have been written. A new leader asks at once.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { BrokerAnswer } from "./call-broker.ts";

export interface BrokerMemory {
  /** Milliseconds until the next question; 0 when it is time. */
  waitMs(guid: string, operation: Pick<LastOperation, "createdAt">, now: Date): number;
  set(guid: string, operation: Pick<LastOperation, "createdAt">, at: number): void;
  forget(guid: string): void;
  findAnswer(step: string, now: Date): BrokerAnswer | undefined;
  keepAnswer(step: string, answer: BrokerAnswer, now: Date): void;
}

/** Beyond these the oldest is forgotten, which costs a request. */
const MAX_TIMES = 10_000;
const MAX_ANSWERS = 100;
/** Answers have credentials: they are not kept for longer than their status takes to be written. */
const ANSWER_MS = 30_000;

export function createBrokerMemory(): BrokerMemory {
  const times = new Map<string, { operation: string; at: number }>();
  const answers = new Map<string, { answer: BrokerAnswer; until: number }>();
  return {
    waitMs(guid, { createdAt }, now) {
      const entry = times.get(guid);
      return entry?.operation === createdAt ? Math.max(0, entry.at - now.getTime()) : 0;
    },
    set(guid, { createdAt }, at) {
      times.set(guid, { operation: createdAt, at });
      trim(times, MAX_TIMES);
    },
    forget: (guid) => void times.delete(guid),
    findAnswer(step, now) {
      const entry = answers.get(step);
      return entry && entry.until > now.getTime() ? entry.answer : undefined;
    },
    keepAnswer(step, answer, now) {
      for (const [key, { until }] of answers) if (until <= now.getTime()) answers.delete(key);
      answers.set(step, { answer, until: now.getTime() + ANSWER_MS });
      trim(answers, MAX_ANSWERS);
    },
  };
}

function trim(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
