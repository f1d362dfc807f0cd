// Translates a broker's answer to the outcome of the operation, by the tables of the Open Service Broker API 2.17. Pure.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { BrokerAnswer } from "./call-broker.ts";
import { cutWords, toBrokerError, toMalformed } from "./broker-words.ts";

export type Outcome =
  | { kind: "done"; body: Record<string, unknown>; description: string }
  | {
      kind: "accepted";
      id: string | undefined;
      body: Record<string, unknown>;
      description: string;
      retryAfterSeconds: number | undefined;
    }
  /** Nothing was made, and the same request would be refused again. `isConflict`: the broker has it already, with other attributes. */
  | { kind: "refused"; why: string; isConflict?: true }
  /** Nothing has happened, or the request may be sent once more: later it may be taken. */
  | { kind: "later"; why: string; retryAfterSeconds: number | undefined }
  /** The broker may have made something, which must be taken back. */
  | { kind: "unclear"; why: string };

export type Asked = "provision" | "update" | "deprovision" | "bind" | "unbind";
type Answered = BrokerAnswer & { kind: "answer" };

const DONE: Record<Asked, readonly number[]> = {
  provision: [200, 201],
  update: [200],
  deprovision: [200, 410],
  bind: [200, 201],
  unbind: [200, 410],
};

/** Characters of a broker's own name for an operation. */
const MAX_OPERATION = 10_000;
/** Answered in place of the broker, while it restarts or is busy: an update is the same when it is sent again. */
const GATEWAY_STATUS: readonly number[] = [502, 503, 504];
/** The request was not read, or there are too many. */
const LATER_STATUS: readonly number[] = [408, 429];

export function toOutcome(asked: Asked, answer: BrokerAnswer): Outcome {
  if (answer.kind === "unreachable") return later(`The service broker could not be reached (${answer.why}).`);
  if (answer.kind === "lost") {
    const why = `The service broker did not answer: ${answer.why}.`;
    return asked === "update" ? later(why) : { kind: "unclear", why };
  }
  const { status } = answer;
  if (DONE[asked].includes(status) || status === 202) return toSuccess(asked, answer);
  return status >= 400 && status < 500 ? toRefusal(asked, answer) : toFailure(asked, answer);
}

function later(why: string, retryAfterSeconds?: number): Outcome {
  return { kind: "later", why, retryAfterSeconds };
}

/** A status that nobody expects, and those of a broker that fails. */
function toFailure(asked: Asked, answer: Answered): Outcome {
  const why = withUsability(asked, answer);
  const { status, retryAfterSeconds } = answer;
  if (asked === "update" && GATEWAY_STATUS.includes(status)) return later(why, retryAfterSeconds);
  // A redirection is not followed, and has made nothing.
  return { kind: status >= 300 && status < 400 ? "refused" : "unclear", why };
}

const UNPROCESSABLE: Readonly<Record<string, string>> = {
  AsyncRequired: "This service plan requires client support for asynchronous service operations.",
  RequiresApp: "This service supports generation of credentials through binding an application only.",
};
const CONCURRENCY = "The service broker could not perform this operation in parallel with other running operations";

/** The words of a failed update or deletion, with what the broker says about the instance. */
function withUsability(asked: Asked, answer: Answered): string {
  const type = asked === "update" ? "update" : isRemoval(asked) ? "delete" : "create";
  return `${toBrokerError(answer)}${toUsability(type, answer.body)}`;
}

/** In words, since people have to act. Empty where the specification gives these members no meaning. */
function toUsability(type: LastOperation["type"], body: Record<string, unknown> | undefined): string {
  const isUnusable = type !== "create" && body?.["instance_usable"] === false;
  const isFinal = type === "update" && body?.["update_repeatable"] === false;
  return `${isUnusable ? " The service instance cannot be used now." : ""}${isFinal ? " The same update would fail again." : ""}`;
}

function toRefusal(asked: Asked, answer: Answered): Outcome {
  const { status, body, retryAfterSeconds } = answer;
  if (LATER_STATUS.includes(status)) return later(toBrokerError(answer), retryAfterSeconds);
  const error = status === 422 ? textOf(body?.["error"]) : undefined;
  if (error === "ConcurrencyError") return later(CONCURRENCY, retryAfterSeconds);
  const why = (error && UNPROCESSABLE[error]) ?? withUsability(asked, answer);
  return { kind: "refused", why, ...(status === 409 && { isConflict: true as const }) };
}

function toSuccess(asked: Asked, answer: Answered): Outcome {
  const { status, body, retryAfterSeconds } = answer;
  const problem = problemOf(asked, answer);
  // A 200 tells of something that this request did not make.
  if (problem) return { kind: status === 200 ? "refused" : "unclear", why: toMalformed(problem) };
  const said = body ?? {};
  const description = cutWords(textOf(said["description"]) ?? "");
  if (status !== 202) return { kind: "done", body: said, description };
  return { kind: "accepted", id: textOf(said["operation"]), body: said, description, retryAfterSeconds };
}

function problemOf(asked: Asked, { status, body }: Answered): string | undefined {
  // The bodies of deletions say nothing.
  if (!body) return isRemoval(asked) ? undefined : "expected valid JSON object in body";
  if (status === 202 && !isOperation(body["operation"]))
    return `expected operation to be a string of at most ${MAX_OPERATION} characters`;
  return asked === "bind" && status !== 202 ? credentialsProblem(body) : undefined;
}

const isRemoval = (asked: Asked): boolean => asked === "deprovision" || asked === "unbind";

function isOperation(operation: unknown): boolean {
  if (operation === undefined || operation === null) return true;
  return typeof operation === "string" && operation.length <= MAX_OPERATION;
}

/** The problem with the credentials in a broker's answer, which may have none. */
export function credentialsProblem({ credentials }: Record<string, unknown>): string | undefined {
  if (credentials === undefined || credentials === null) return undefined;
  return typeof credentials === "object" && !Array.isArray(credentials)
    ? undefined
    : "expected credentials to be a valid JSON object";
}

export type Progress =
  | { state: "in progress"; description: string | undefined; retryAfterSeconds: number | undefined }
  | { state: "succeeded" | "failed"; description: string; retryAfterSeconds?: undefined };

/** The answer of last_operation. Whatever is no clear answer means: ask again. */
export function toProgress(type: LastOperation["type"], answer: BrokerAnswer): Progress {
  if (answer.kind !== "answer") return UNKNOWN;
  const { status, body, retryAfterSeconds } = answer;
  if (status === 410)
    return type === "delete"
      ? { state: "succeeded", description: "" }
      : { state: "failed", description: "The service broker no longer has it." };
  if (status === 400) return { state: "failed", description: cutWords(textOf(body?.["description"]) ?? "Bad request") };
  return status === 200 && body ? toStated(type, body, retryAfterSeconds) : { ...UNKNOWN, retryAfterSeconds };
}

const UNKNOWN = { state: "in progress", description: undefined, retryAfterSeconds: undefined } as const;

function toStated(
  type: LastOperation["type"],
  body: Record<string, unknown>,
  retryAfterSeconds: number | undefined,
): Progress {
  const { state } = body;
  const said = textOf(body["description"]);
  const description = said && cutWords(said);
  if (state === "succeeded") return { state, description: description ?? "" };
  if (state === "failed") return { state, description: `${description ?? ""}${toUsability(type, body)}`.trim() };
  return { state: "in progress", description, retryAfterSeconds };
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

/** Seconds before attempt `attempts + 1`. */
export function retryDelaySeconds(attempts: number): number {
  return Math.min(10 * 2 ** attempts, 3600);
}

/** Seconds before a request that the broker did not take, as it was busy or away, is sent for the `attempts + 1`st time. */
export function laterDelaySeconds(attempts: number): number {
  return Math.min(2 ** attempts, 300);
}
