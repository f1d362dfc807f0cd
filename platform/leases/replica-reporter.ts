// Maintains this process's Replica object: its operations, its leaderships, and its parked watches. Written only after a change that lasts.
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { ConditionDraft } from "../../kube/controller/controller.ts";
import type { EventDraft, EventRecorder } from "../../kube/controller/event-recorder.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { planStatus } from "../../kube/controller/plan-status.ts";
import { memoizeLast } from "../../kube/cache/memoize-last.ts";
import type { ReadinessReport } from "../../kube/server/readiness.ts";
import type { InformerStatus } from "../../kube/cache/informer-options.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { PolicyReport } from "../policies/live-policies.ts";
import { Replica } from "../../crds/replica/replica.ts";

/** The reported state. */
export interface ReplicaState {
  health: ReadinessReport;
  leads: readonly string[];
  watches: readonly InformerStatus[];
  /** Undefined where the process does not judge by operator policy. */
  policies?: PolicyReport | undefined;
}

export interface ReplicaReporterOptions {
  client: KubeClient;
  membership: Membership;
  operations: readonly string[];
  observe: () => ReplicaState;
  /** Receives what becomes unavailable, and its recovery. */
  events: EventRecorder;
  signal: AbortSignal;
  log: Logger;
  /** For tests. */
  timing?: Partial<ReportTiming>;
}

export interface ReportTiming {
  /** Interval between checks. */
  pollMs: number;
  /** Delay after a failed write. */
  retryMs: number;
  /** A change is written after it has lasted so long; short-lived changes are not written. */
  stableMs: number;
  /** A status that keeps changing is written this often. */
  maxDelayMs: number;
  /** A change of wording only (a number, an error's text) is written this often at most. */
  messageMs: number;
}

const DEFAULT_TIMING: ReportTiming = {
  pollMs: 500,
  retryMs: 5_000,
  stableMs: 400,
  maxDelayMs: 30_000,
  messageMs: 60_000,
};
const MAX_PARKED = 500;

/** Keeps the object until the signal aborts; garbage collection deletes it with its owner, the Lease. */
export function reportReplica(options: ReplicaReporterOptions): Promise<void> {
  return new ReplicaReporter(options).run();
}

type Status = Pick<NonNullable<Replica["status"]>, "leads" | "parked" | "degraded" | "policies">;

/** Status fields and the Ready condition, with what is missing. */
export interface PresentedReplica {
  status: Status;
  ready: boolean;
  message: string;
  missing: string[];
}

/** Watches seldom change, and there may be one for each namespace. */
const presentParked = memoizeLast((watches: readonly InformerStatus[]): NonNullable<Status["parked"]> => {
  // A kind that is watched by namespace is parked in each namespace separately.
  const watchStates = watches.flatMap(({ resource, notWatching = [], ...whole }) =>
    [whole, ...notWatching].map((one) => ({ resource, ...one })),
  );
  const parked = watchStates.flatMap(({ resource, namespace, parkReason }) =>
    parkReason ? [{ resource, ...(namespace && { namespace }), reason: parkReason }] : [],
  );
  const key = (row: { resource: string; namespace?: string }): string => `${row.resource} ${row.namespace ?? ""}`;
  return parked.sort((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, MAX_PARKED);
});

/** Pure. */
export function presentReplica({ health, leads, watches, policies }: ReplicaState): PresentedReplica {
  return {
    status: {
      leads: [...leads].sort(),
      parked: presentParked(watches),
      degraded: health.degraded.map(({ name, reason }) => ({ name, reason: reason.slice(0, 4096) })).slice(0, 100),
      policies: policies && { ...policies, ...(policies.error && { error: policies.error.slice(0, 4096) }) },
    },
    ready: health.ready,
    message: health.pending
      .map(({ name, reason }) => `${name}: ${reason}`)
      .join("; ")
      .slice(0, 4096),
    missing: health.pending.map(({ name }) => name),
  };
}

/** The last written status, and how long the current one has differed. Times are monotonic milliseconds. */
export interface ReportState {
  reported: { present: PresentedReplica; at: number };
  /** `since`: start of the current state; `first`: when it began to differ from the written one. */
  pendingChange?: { outline: unknown; since: number; first: number };
}

/** Whether to write now, and the state to remember if not. Pure. */
export function planReport(
  { reported, pendingChange }: ReportState,
  present: PresentedReplica,
  { now, timing }: { now: number; timing: ReportTiming },
): { due: boolean; next: ReportState } {
  if (isDeepStrictEqual(reported.present, present)) return { due: false, next: { reported } };
  const facts = withoutMessages(present);
  if (isDeepStrictEqual(withoutMessages(reported.present), facts))
    return { due: now - reported.at >= timing.messageMs, next: { reported } };
  const since = isDeepStrictEqual(pendingChange?.outline, facts) ? (pendingChange?.since ?? now) : now;
  const first = pendingChange?.first ?? now;
  return {
    due: now - since >= timing.stableMs || now - first >= timing.maxDelayMs,
    next: { reported, pendingChange: { outline: facts, since, first } },
  };
}

/** The status without its messages. */
function withoutMessages({ status: { leads, parked, degraded, policies }, ready, missing }: PresentedReplica): unknown {
  const { applied, error } = policies ?? {};
  return { leads, parked, ready, missing, applied, isError: !!error, degraded: degraded?.map(({ name }) => name) };
}

class ReplicaReporter {
  readonly #options: ReplicaReporterOptions;
  readonly #timing: ReportTiming;
  #object: Replica | undefined;
  /** uid of the Lease that owned the object when it was written. */
  #owner: string | undefined;
  #reportState: ReportState | undefined;

  constructor(options: ReplicaReporterOptions) {
    this.#options = options;
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
  }

  async run(): Promise<void> {
    const { signal, log } = this.#options;
    while (!signal.aborted) {
      let pause = this.#timing.pollMs;
      try {
        await this.#report();
      } catch (err) {
        // Removed, or changed by another writer: it is applied again, and the answer shows the current object.
        if (isNotFound(err) || isConflict(err)) this.#object = undefined;
        this.#reportState = undefined;
        log.debug({ err }, "could not write the Replica object");
        pause = this.#timing.retryMs;
      }
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #report(): Promise<void> {
    const { client, membership, observe } = this.#options;
    const owner = membership.ownerReference();
    if (!owner) return;
    const present = presentReplica(observe());
    // A new Lease after an eviction: the old object is deleted with the old Lease.
    if (this.#owner === owner.uid && !this.#isDue(present)) return;
    const object =
      this.#object?.metadata.ownerReferences?.[0]?.uid === owner.uid ? this.#object : await this.#apply(owner);
    const body = planStatus({
      object,
      status: present.status,
      conditions: [toReadyCondition(present), toDegradedCondition(present)],
      writesObservedGeneration: true,
      now: new Date(),
    });
    this.#object = body
      ? await client.patch(Replica, object.metadata, { type: "merge", body }, { subresource: "status" })
      : object;
    this.#recordEvent(this.#object, present);
    this.#owner = owner.uid;
    this.#reportState = { reported: { present, at: performance.now() } };
  }

  #recordEvent(object: Replica, present: PresentedReplica): void {
    const event = planEvent(this.#reportState?.reported.present, present);
    if (event) this.#options.events.record(object, "replica", event);
  }

  #isDue(present: PresentedReplica): boolean {
    if (!this.#reportState) return true;
    const { due, next } = planReport(this.#reportState, present, { now: performance.now(), timing: this.#timing });
    this.#reportState = next;
    return due;
  }

  #apply(owner: NonNullable<ReturnType<Membership["ownerReference"]>>): Promise<Replica> {
    const { client, membership, operations } = this.#options;
    const draft = {
      metadata: { namespace: SYSTEM_NAMESPACE, name: membership.identity, ownerReferences: [owner] },
      spec: { operations: [...operations] },
    };
    return client.apply(Replica, draft, { fieldManager: "cupola-replica", force: true });
  }
}

const namesOf = ({ status: { degraded = [] } }: PresentedReplica): string =>
  degraded.map(({ name }) => name).join(", ");

function describeDegraded({ status: { degraded = [] } }: PresentedReplica): string {
  return degraded
    .map(({ name, reason }) => `${name}: ${reason}`)
    .join("; ")
    .slice(0, 4096);
}

/** The Event of a component that became unavailable, or of the last one's return. Pure. */
export function planEvent(before: PresentedReplica | undefined, present: PresentedReplica): EventDraft | undefined {
  const now = namesOf(present);
  if (now === (before ? namesOf(before) : "")) return undefined;
  if (now === "") return { type: "Normal", reason: "Recovered", message: "all components are available again" };
  return { type: "Warning", reason: "Degraded", message: describeDegraded(present) };
}

function toDegradedCondition(present: PresentedReplica): ConditionDraft {
  const message = describeDegraded(present);
  return message === ""
    ? { type: "Degraded", status: "False", reason: "AllAvailable", message }
    : { type: "Degraded", status: "True", reason: "ComponentsUnavailable", message };
}

function toReadyCondition({ ready, message }: PresentedReplica): ConditionDraft {
  return ready
    ? { type: "Ready", status: "True", reason: "Serving", message }
    : { type: "Ready", status: "False", reason: "NotReady", message };
}
