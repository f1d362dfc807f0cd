// An operation of a broker on an instance or binding, from the answer to its end. What a create may have left is taken back.
import type { LastOperation, PendingOperation, ProvidedBy } from "../../../crds/service-instance/managed-fields.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import {
  NotReady,
  type ReadyDraft,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { askBroker } from "./ask-broker.ts";
import type { BrokerAnswer, BrokerRequest } from "./call-broker.ts";
import type { BrokerPace } from "./broker-pace.ts";
import { beginOperation, isOverdue, nextPollMs, nextState, retryWaitMs } from "./operation-status.ts";
import { MAX_ORPHAN_ATTEMPTS, toOutcome, toProgress, type Outcome } from "./outcomes.ts";
import type { BrokerMemory } from "./broker-memory.ts";

/** An object that a broker provides, and how it is asked. */
export interface Provided {
  ref: ResourceRef;
  object: KubeObject;
  guid: string;
  provided: ProvidedBy;
  last: LastOperation | undefined;
  operation: PendingOperation | undefined;
  /** Seconds that the plan allows. */
  maximumSeconds?: number | undefined;
  removal: "deprovision" | "unbind";
  requests: { poll: (operation: string | undefined) => BrokerRequest; remove: () => BrokerRequest };
  /** Further status of a failed operation. */
  failedStatus?: (last: LastOperation) => Record<string, unknown>;
  context: ReconcileContext;
  pace: BrokerPace;
  memory: BrokerMemory;
}

const REASONS = { create: "ProvisionFailed", update: "UpdateFailed", delete: "DeprovisionFailed" } as const;
const NOT_IN_TIME = "The service broker did not end it in time.";

export function underWay({ type }: LastOperation): ReadyDraft {
  return { status: "False", reason: "OperationInProgress", message: `the service broker's ${type} is under way` };
}

/** Ready of an operation that has failed. */
export function failedReady({ type, description }: LastOperation): ReadyDraft {
  const next = type === "create" ? " Delete it, and create it again." : "";
  return { status: "False", reason: REASONS[type], message: `${description}${next}`, isFailure: true };
}

/** Asks for a create or update, once: `settled` makes its status of the answer. An answer whose status could not be written is settled again. */
export async function askOnce(
  work: Provided,
  toRequest: () => Promise<BrokerRequest>,
  settled: (answer: BrokerAnswer) => Promise<ReconcileResult>,
): Promise<ReconcileResult> {
  const { guid, last, context, memory } = work;
  const step = `${guid} ${last?.createdAt ?? ""}`;
  const known = memory.findAnswer(step, context.now());
  if (known) return settled(known);
  const answer = await askBroker(work.provided, await toRequest(), work);
  memory.keepAnswer(step, answer, context.now());
  return settled(answer);
}

/** The status after an answer to create or update; `onDone` gives what success adds. */
export async function settle(
  work: Provided,
  outcome: Outcome,
  onDone: (body: Record<string, unknown>) => Promise<Record<string, unknown>>,
): Promise<ReconcileResult> {
  const { last, operation, context } = work;
  if (!last) return {};
  if (outcome.kind === "done") return succeed(last, await onDone(outcome.body), context.now());
  if (outcome.kind !== "accepted") return fail(work, last, { why: outcome.why, isUnclear: outcome.kind === "unclear" });
  const now = context.now();
  return {
    status: {
      lastOperation: nextState(last, { state: "in progress", now }),
      operation: { ...operation, ...(outcome.id !== undefined && { id: outcome.id }) },
    },
    ready: underWay(last),
    requeueAfterMs: nextPollMs(last, outcome.retryAfterSeconds, now),
  };
}

function succeed(last: LastOperation, more: Record<string, unknown>, now: Date): ReconcileResult {
  return {
    status: { lastOperation: nextState(last, { state: "succeeded", now }), operation: undefined, ...more },
  };
}

function fail(
  { failedStatus, context }: Provided,
  last: LastOperation,
  { why, isUnclear }: { why: string; isUnclear: boolean },
): ReconcileResult {
  const lastOperation = nextState(last, { state: "failed", description: why, now: context.now() });
  const operation = isUnclear && last.type === "create" ? { isOrphan: true, attempts: 0 } : undefined;
  return { status: { lastOperation, operation, ...failedStatus?.(last) }, ready: failedReady(lastOperation) };
}

type Polled =
  | { state: "succeeded" }
  | { state: "failed"; why: string }
  | { state: "in progress"; delayMs: number; description?: string };

async function askProgress(work: Provided, last: LastOperation): Promise<Polled> {
  const { context, memory, guid, operation, provided, requests } = work;
  const waitMs = memory.waitMs(guid, last, context.now());
  if (waitMs > 0) return { state: "in progress", delayMs: waitMs };
  const progress = toProgress(last.type === "delete", await askBroker(provided, requests.poll(operation?.id), work));
  const now = context.now();
  if (progress.state !== "in progress") memory.forget(guid);
  if (progress.state === "succeeded") return { state: "succeeded" };
  if (progress.state === "failed") return { state: "failed", why: progress.description };
  if (isOverdue(last, work.maximumSeconds, now)) return { state: "failed", why: NOT_IN_TIME };
  const delayMs = nextPollMs(last, progress.retryAfterSeconds, now);
  memory.set(guid, last, now.getTime() + delayMs);
  return {
    state: "in progress",
    delayMs,
    ...(progress.description !== undefined && { description: progress.description }),
  };
}

/** Asks how far a create or update is. */
export async function poll(work: Provided, onDone: () => Promise<Record<string, unknown>>): Promise<ReconcileResult> {
  const { last, context } = work;
  if (!last) return {};
  const polled = await askProgress(work, last);
  if (polled.state === "succeeded") return succeed(last, await onDone(), context.now());
  if (polled.state === "failed") return fail(work, last, { why: polled.why, isUnclear: true });
  const { delayMs, description = last.description } = polled;
  return {
    status: { lastOperation: nextState(last, { state: "in progress", description, now: context.now() }) },
    ready: underWay(last),
    requeueAfterMs: delayMs,
  };
}

/** Takes back what a failed create may have left at the broker. */
export async function mitigate(work: Provided): Promise<ReconcileResult> {
  const { last, operation, provided, context } = work;
  if (!last) return {};
  const ready = failedReady(last);
  const attempts = operation?.attempts ?? 0;
  const waitMs = attempts === 0 ? 0 : retryWaitMs(last, attempts, context.now());
  if (waitMs > 0) return { ready, requeueAfterMs: waitMs };
  const outcome = toOutcome(work.removal, await askBroker(provided, work.requests.remove(), work));
  if (outcome.kind === "done" || outcome.kind === "accepted" || attempts + 1 >= MAX_ORPHAN_ATTEMPTS)
    return { status: { operation: undefined }, ready };
  const lastOperation = { ...last, updatedAt: context.now().toISOString() };
  return { status: { lastOperation, operation: { isOrphan: true, attempts: attempts + 1 } }, ready };
}

const REMOVAL = "delete";
/** A cache that does not have our own status yet must not make us ask twice. */
const OWN_WRITE_MS = 2000;

/** The finalizer may need more than one try to go. */
const REMOVED_MS = 60_000;

function askedMs({ memory, guid, context }: Provided): number {
  return memory.waitMs(`${guid} asked`, { createdAt: REMOVAL }, context.now());
}

function setAsked({ memory, guid, context }: Provided): void {
  memory.set(`${guid} asked`, { createdAt: REMOVAL }, context.now().getTime() + OWN_WRITE_MS);
}

function setRemoved({ memory, guid, context }: Provided): void {
  memory.set(`${guid} removed`, { createdAt: REMOVAL }, context.now().getTime() + REMOVED_MS);
}

function isRemoved({ memory, guid, context }: Provided): boolean {
  return memory.waitMs(`${guid} removed`, { createdAt: REMOVAL }, context.now()) > 0;
}

/** Deletes it at the broker. @throws NotReady until that is done */
export async function removeAtBroker(work: Provided): Promise<void> {
  const { last } = work;
  if (isRemoved(work)) return;
  const askedFor = askedMs(work);
  if (askedFor > 0) throw removalUnderWay(askedFor);
  if (last?.type !== "delete") return startRemoval(work, await beginRemoval(work));
  if (last.state === "in progress") return pollRemoval(work, last);
  const waitMs = last.state === "failed" ? retryWaitMs(last, work.operation?.attempts ?? 0, work.context.now()) : 0;
  if (waitMs > 0) throw removalFailed(last.description, waitMs);
  return startRemoval(work, last);
}

async function beginRemoval(work: Provided): Promise<LastOperation> {
  const begun = beginOperation("delete", { now: work.context.now(), generation: work.object.metadata.generation });
  await writeStatus(work, { lastOperation: begun.lastOperation, operation: null });
  return begun.lastOperation;
}

async function startRemoval(work: Provided, last: LastOperation): Promise<void> {
  const outcome = toOutcome(work.removal, await askBroker(work.provided, work.requests.remove(), work));
  setAsked(work);
  if (outcome.kind === "done") return setRemoved(work);
  if (outcome.kind !== "accepted") return failRemoval(work, last, outcome.why);
  const now = work.context.now();
  const operation = outcome.id === undefined ? null : { id: outcome.id };
  await writeStatus(work, { lastOperation: nextState(last, { state: "in progress", now }), operation });
  throw removalUnderWay(nextPollMs(last, outcome.retryAfterSeconds, now));
}

async function pollRemoval(work: Provided, last: LastOperation): Promise<void> {
  const polled = await askProgress(work, last);
  if (polled.state === "in progress") throw removalUnderWay(polled.delayMs);
  if (polled.state === "failed") await failRemoval(work, last, polled.why);
  setRemoved(work);
}

async function failRemoval(work: Provided, last: LastOperation, why: string): Promise<never> {
  const now = work.context.now();
  const attempts = (work.operation?.attempts ?? 0) + 1;
  // Its time is that of the latest attempt, from which the next one is counted.
  const lastOperation = {
    ...nextState(last, { state: "failed", description: why, now }),
    updatedAt: now.toISOString(),
  };
  await writeStatus(work, { lastOperation, operation: { attempts, id: null } });
  throw removalFailed(why, retryWaitMs(lastOperation, attempts, now));
}

const removalUnderWay = (requeueAfterMs: number): NotReady =>
  new NotReady("OperationInProgress", "the service broker's delete is under way", { requeueAfterMs });

const removalFailed = (why: string, requeueAfterMs: number): NotReady =>
  new NotReady("DeprovisionFailed", `${why} It is tried again.`, { isFailure: true, requeueAfterMs });

async function writeStatus({ ref, object, context }: Provided, status: Record<string, unknown>): Promise<void> {
  const { namespace = "", name } = object.metadata;
  await context.client.patch(ref, { namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
}
