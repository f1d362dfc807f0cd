// A broker's create or update of an instance or binding, from the question to its end, within the time that the plan allows.
import { isRestored } from "../../../crds/guid.ts";
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import { NotReady, type ReconcileResult } from "../../../kube/controller/controller.ts";
import type { BrokerAnswer, BrokerRequest } from "./call-broker.ts";
import { isOverdue, laterWaitMs, nextAttempt, nextPollMs, nextState } from "./operation-status.ts";
import type { Asked, Outcome } from "./outcomes.ts";
import { askProgress, waitToPoll } from "./polling.ts";
import { askInTurn, toAskedOutcome, type Provided } from "./provided.ts";
import { failedReady, laterReady, notInTime, orphanedCondition, underWay } from "./ready.ts";

/** Returns the fields that a success adds to the status. */
type Keep = (body: Record<string, unknown>) => Promise<Record<string, unknown>>;

interface Asking {
  toRequest: () => Promise<BrokerRequest>;
  /** Reads the answer. */
  toOutcome: (answer: BrokerAnswer) => Outcome;
  /** Called at a success. */
  keep: Keep;
  /** Reads what the broker has already of an object that a backup brought back without its status. */
  adopt: () => Promise<Outcome>;
}

/** Asks for a create or update. */
export async function ask(work: Provided, asked: Asked, how: Asking): Promise<ReconcileResult> {
  const { last, context } = work;
  if (!last) return {};
  const waitMs = waitToRepeat(work, last);
  if (waitMs > 0 && !isOverdue(boundOf(work, last), context.now()))
    return { ready: laterReady(last.description), requeueAfterMs: waitMs };
  return withinTime(work, last, async () => {
    const asking = askInTurn(work, asked, how.toRequest);
    const outcome = await adopted(work, await toAskedOutcome(asking, how.toOutcome), how.adopt);
    return outcome.kind === "later" ? repeat(work, last, outcome) : settle(work, last, outcome, how.keep);
  });
}

/**
 * Without its status nobody knows with which attributes the broker has made a restored object: a conflict says that it is there. Only admins restore GUIDs, so
 * nobody gets what is another one's. One that cannot be read stays as it is.
 */
async function adopted({ object, last }: Provided, outcome: Outcome, adopt: Asking["adopt"]): Promise<Outcome> {
  const isThere = outcome.kind === "refused" && outcome.isConflict && last?.type === "create" && isRestored(object);
  if (!isThere) return outcome;
  const found = await adopt();
  return found.kind === "done" || found.kind === "later" ? found : outcome;
}

/** Too many concurrent requests. */
const TURN_REASONS = new Set(["BrokerBusy", "InstanceBusy"]);

/** Bounds a wait that may never end. */
async function withinTime(
  work: Provided,
  last: LastOperation,
  step: () => Promise<ReconcileResult>,
): Promise<ReconcileResult> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof NotReady) || TURN_REASONS.has(error.reason)) throw error;
    if (!isOverdue(boundOf(work, last), work.context.now())) throw error;
    return fail(work, last, { kind: "unclear", why: `${notInTime(work, last.type)} ${error.message}` });
  }
}

/** The broker's own time begins when it has taken the request. */
function boundOf({ maximumSeconds, operation }: Provided, { createdAt }: LastOperation) {
  return { since: operation?.at ?? createdAt, maximumSeconds };
}

function waitToRepeat({ memory, guid, operation, context }: Provided, last: LastOperation): number {
  const attempts = operation?.attempts ?? 0;
  if (attempts === 0) return 0;
  return Math.max(memory.waitMs(guid, last, context.now()), laterWaitMs(last, attempts, context.now()));
}

/** The same request again, later. */
function repeat(
  work: Provided,
  last: LastOperation,
  { why, retryAfterSeconds = 0 }: Outcome & { kind: "later" },
): ReconcileResult {
  const { operation, context, memory, guid } = work;
  const now = context.now();
  // Another process may have asked, and ended before it could say so.
  if (isOverdue(boundOf(work, last), now))
    return fail(work, last, { kind: "unclear", why: `${notInTime(work, last.type)} ${why}` });
  const attempts = (operation?.attempts ?? 0) + 1;
  const lastOperation = nextAttempt(last, { state: "initial", description: `${why} It is tried again.`, now });
  const askedMs = retryAfterSeconds > 0 ? nextPollMs(boundOf(work, last), retryAfterSeconds, now) : 0;
  const delayMs = Math.max(laterWaitMs(lastOperation, attempts, now), askedMs);
  memory.set(guid, last, now.getTime() + delayMs);
  return {
    status: { lastOperation, operation: { ...operation, attempts } },
    ready: laterReady(lastOperation.description),
    requeueAfterMs: delayMs,
  };
}

/** The status after an answer to create or update. */
async function settle(
  work: Provided,
  last: LastOperation,
  outcome: Exclude<Outcome, { kind: "later" }>,
  keep: Keep,
): Promise<ReconcileResult> {
  if (outcome.kind === "done")
    return succeed(work, last, { description: outcome.description, more: await keep(outcome.body) });
  if (outcome.kind !== "accepted") return fail(work, last, outcome);
  const { id, description, retryAfterSeconds } = outcome;
  const now = work.context.now();
  const at = now.toISOString();
  return {
    status: {
      lastOperation: nextState(last, { state: "in progress", description, now }),
      operation: { ...work.operation, attempts: undefined, at, ...(id !== undefined && { id }) },
    },
    ready: underWay(last),
    requeueAfterMs: waitToPoll(work, { since: at, retryAfterSeconds }, now),
  };
}

function succeed(
  { context }: Provided,
  last: LastOperation,
  { description, more }: { description: string; more: Record<string, unknown> },
): ReconcileResult {
  const lastOperation = nextState(last, { state: "succeeded", description, now: context.now() });
  return { status: { lastOperation, operation: undefined, ...more } };
}

function fail(
  { failedStatus, context }: Provided,
  last: LastOperation,
  { why, kind }: { why: string; kind: "refused" | "unclear" },
): ReconcileResult {
  const lastOperation = nextState(last, { state: "failed", description: why, now: context.now() });
  const isOrphan = kind === "unclear" && last.type === "create";
  const operation = isOrphan ? { isOrphan, attempts: 0 } : undefined;
  return {
    status: { lastOperation, operation, ...failedStatus?.(last) },
    ready: failedReady(lastOperation),
    ...(isOrphan && { conditions: [orphanedCondition("it is asked next")] }),
  };
}

/** Asks how far a create or update is. `fetch` reads what a broker that is done has made, and `keep` what that gives. */
export async function poll(
  work: Provided,
  { fetch, keep }: { fetch: () => Promise<Outcome>; keep: Keep },
): Promise<ReconcileResult> {
  const { last } = work;
  if (!last) return {};
  const { since } = boundOf(work, last);
  const polled = await askProgress(work, { type: last.type, since });
  if (polled.state === "succeeded")
    return withinTime(work, last, async () =>
      fetched(work, last, { description: polled.description, outcome: await fetch(), keep }),
    );
  if (polled.state === "failed") return fail(work, last, { kind: "unclear", why: polled.why });
  return goesOn(work, last, { description: polled.description ?? last.description, delayMs: polled.delayMs });
}

function goesOn(
  { context }: Provided,
  last: LastOperation,
  { description, delayMs }: { description: string; delayMs: number },
): ReconcileResult {
  return {
    status: { lastOperation: nextState(last, { state: "in progress", description, now: context.now() }) },
    ready: underWay(last),
    requeueAfterMs: delayMs,
  };
}

/** A broker that does not tell what it has made is asked again, as long as the operation may take. */
async function fetched(
  work: Provided,
  last: LastOperation,
  { description, outcome, keep }: { description: string; outcome: Outcome; keep: Keep },
): Promise<ReconcileResult> {
  const now = work.context.now();
  if (outcome.kind === "done") return succeed(work, last, { description, more: await keep(outcome.body) });
  if (outcome.kind === "refused" || outcome.kind === "unclear")
    return fail(work, last, { kind: "unclear", why: outcome.why });
  const bound = boundOf(work, last);
  if (isOverdue(bound, now)) return fail(work, last, { kind: "unclear", why: notInTime(work, last.type) });
  const delayMs = waitToPoll(work, { since: bound.since, retryAfterSeconds: outcome.retryAfterSeconds }, now);
  return goesOn(work, last, { description: "why" in outcome ? outcome.why : description, delayMs });
}
