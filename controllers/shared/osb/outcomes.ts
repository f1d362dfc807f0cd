// What an answer of a broker means for the operation that asked for it. Pure.
import type { BrokerAnswer } from "./call-broker.ts";

export type Outcome =
  | { kind: "done"; body: Record<string, unknown> }
  | { kind: "accepted"; id: string | undefined; body: Record<string, unknown>; retryAfterSeconds: number | undefined }
  | { kind: "refused"; why: string; reason: "BrokerRefused" | "BrokerUnreachable" }
  /** The broker may have made something, which must be taken back. */
  | { kind: "unclear"; why: string; reason: "BrokerTimedOut" | "BrokerAnswerInvalid" | "BrokerFailed" };

export type Asked = "provision" | "update" | "deprovision" | "bind" | "unbind";

const DONE: Record<Asked, readonly number[]> = {
  provision: [200, 201],
  update: [200],
  deprovision: [200, 410],
  bind: [200, 201],
  unbind: [200, 410],
};

/** Characters of what a broker says. */
const MAX_WORDS = 1000;

export function toOutcome(asked: Asked, answer: BrokerAnswer): Outcome {
  if (answer.kind === "unreachable")
    return {
      kind: "refused",
      reason: "BrokerUnreachable",
      why: `The service broker could not be reached (${answer.why}).`,
    };
  if (answer.kind === "lost")
    return { kind: "unclear", reason: "BrokerTimedOut", why: `The service broker did not answer: ${answer.why}.` };
  const { status, body } = answer;
  if (DONE[asked].includes(status) || status === 202) return toSuccess(asked, answer);
  if (status >= 500 || status === 408 || (status >= 200 && status < 300))
    return { kind: "unclear", reason: "BrokerFailed", why: `Service broker error (${status}): ${wordsOf(body)}` };
  return { kind: "refused", reason: "BrokerRefused", why: `Service broker error (${status}): ${wordsOf(body)}` };
}

function toSuccess(asked: Asked, { status, body, retryAfterSeconds }: BrokerAnswer & { kind: "answer" }): Outcome {
  // The bodies of deletions say nothing.
  const said = body ?? (asked === "deprovision" || asked === "unbind" ? {} : undefined);
  if (!said)
    return { kind: "unclear", reason: "BrokerAnswerInvalid", why: "The service broker's answer is no JSON object." };
  if (status !== 202) return { kind: "done", body: said };
  return { kind: "accepted", id: textOf(said["operation"]), body: said, retryAfterSeconds };
}

export type Progress =
  | { state: "in progress"; description: string | undefined; retryAfterSeconds: number | undefined }
  | { state: "succeeded" | "failed"; description: string; retryAfterSeconds?: undefined };

/** The answer of last_operation. Whatever is no clear answer means: ask again. */
export function toProgress(isDeletion: boolean, answer: BrokerAnswer): Progress {
  if (answer.kind !== "answer") return UNKNOWN;
  const { status, body, retryAfterSeconds } = answer;
  if (status === 410)
    return isDeletion
      ? { state: "succeeded", description: "" }
      : { state: "failed", description: "The service broker no longer has it." };
  return status === 200 && body ? toStated(body, retryAfterSeconds) : { ...UNKNOWN, retryAfterSeconds };
}

const UNKNOWN = { state: "in progress", description: undefined, retryAfterSeconds: undefined } as const;

function toStated(body: Record<string, unknown>, retryAfterSeconds: number | undefined): Progress {
  const { state } = body;
  const description = textOf(body["description"])?.slice(0, MAX_WORDS);
  if (state === "succeeded" || state === "failed") return { state, description: description ?? "" };
  return { state: "in progress", description, retryAfterSeconds };
}

function wordsOf(body: Record<string, unknown> | undefined): string {
  const words = textOf(body?.["description"]) ?? textOf(body?.["error"]) ?? "it gives no reason";
  return words.slice(0, MAX_WORDS);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const FIRST_POLL_SECONDS = 2;
const LAST_POLL_SECONDS = 60;
const DAY_SECONDS = 86_400;

/** Seconds until the next question, for an operation that has taken so long: a tenth of it, or as the broker says. */
export function pollDelaySeconds(elapsedSeconds: number, retryAfterSeconds: number | undefined): number {
  if (retryAfterSeconds !== undefined) return Math.min(Math.max(retryAfterSeconds, 1), DAY_SECONDS);
  return Math.min(Math.max(elapsedSeconds / 10, FIRST_POLL_SECONDS), LAST_POLL_SECONDS);
}

/** CF's: an operation without an end has failed after seven days. */
export const MAX_POLLING_SECONDS = 7 * DAY_SECONDS;

/** Minutes double: what could not be taken back is tried eleven times, as in CF. */
export const MAX_ORPHAN_ATTEMPTS = 11;

/** Seconds before attempt `attempts + 1`. */
export function retryDelaySeconds(attempts: number): number {
  return Math.min(10 * 2 ** attempts, 3600);
}
