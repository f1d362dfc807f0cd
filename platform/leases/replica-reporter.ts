// Shows this process in the cluster: an object that says what it does, what it leads and which watches are parked. Written when that has changed and stays so, never else.
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { ConditionDraft } from "../../kube/controller/controller.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { planStatus } from "../../kube/controller/plan-status.ts";
import { rememberLast } from "../../kube/cache/memoize-last.ts";
import type { ReadinessReport } from "../../kube/server/readiness.ts";
import type { WatchStatus } from "../../kube/cache/informers.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Replica } from "../../crds/replica/replica.ts";

/** What there is to tell. */
export interface ReplicaView {
  health: ReadinessReport;
  leads: readonly string[];
  watches: readonly WatchStatus[];
}

export interface ReplicaObjectOptions {
  client: KubeClient;
  membership: Membership;
  operations: readonly string[];
  look: () => ReplicaView;
  signal: AbortSignal;
  log: Logger;
  /** For tests. */
  timing?: Partial<ShowTiming>;
}

export interface ShowTiming {
  /** Between looks. */
  lookMs: number;
  /** After a write that failed. */
  againMs: number;
  /** What has changed is written when it has stayed so for so long: what comes and goes is nobody's business. */
  settleMs: number;
  /** What goes on changing is written so often all the same. */
  restlessMs: number;
  /** Other words for what is the case anyway (a number, an error's text) are written so often at most. */
  wordsMs: number;
}

const TIMING: ShowTiming = { lookMs: 500, againMs: 5_000, settleMs: 400, restlessMs: 30_000, wordsMs: 60_000 };
const MAX_PARKED = 500;

/** Keeps the object until the signal aborts; it goes with the Lease that owns it. */
export function showReplica(options: ReplicaObjectOptions): Promise<void> {
  return new Shown(options).loop();
}

type Status = Pick<NonNullable<Replica["status"]>, "leads" | "parked" | "degraded">;

/** The status fields and the Ready condition, and what of the process is missing. */
export interface Presented {
  status: Status;
  ready: boolean;
  message: string;
  missing: string[];
}

/** Watches seldom change, and there may be one for each namespace. */
const presentParked = rememberLast((watches: readonly WatchStatus[]): NonNullable<Status["parked"]> => {
  // A kind that is watched namespace by namespace is parked in each of them for itself.
  const seen = watches.flatMap(({ resource, elsewhere = [], ...whole }) => [whole, ...elsewhere].map((one) => ({ resource, ...one })));
  const parked = seen.flatMap(({ resource, namespace, parkReason }) => (parkReason ? [{ resource, ...(namespace && { namespace }), reason: parkReason }] : []));
  const key = (row: { resource: string; namespace?: string }): string => `${row.resource} ${row.namespace ?? ""}`;
  return parked.sort((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, MAX_PARKED);
});

/** Pure. */
export function presentReplica({ health, leads, watches }: ReplicaView): Presented {
  return {
    status: {
      leads: [...leads].sort(),
      parked: presentParked(watches),
      degraded: health.degraded.map(({ name, reason }) => ({ name, reason: reason.slice(0, 4096) })).slice(0, 100),
    },
    ready: health.ready,
    message: health.pending.map(({ name, reason }) => `${name}: ${reason}`).join("; ").slice(0, 4096),
    missing: health.pending.map(({ name }) => name),
  };
}

/** What was written, and what has differed from it since when. Times are monotonic milliseconds. */
export interface Telling {
  told: { present: Presented; at: number };
  /** Since when it has been as it is now, and since when it has been otherwise than told. */
  news?: { outline: unknown; since: number; first: number };
}

/** Whether what is seen is to be written now, and what is to be remembered if not. Pure. */
export function planTelling({ told, news }: Telling, present: Presented, { now, timing }: { now: number; timing: ShowTiming }): { due: boolean; next: Telling } {
  if (isDeepStrictEqual(told.present, present)) return { due: false, next: { told } };
  const outline = outlineOf(present);
  if (isDeepStrictEqual(outlineOf(told.present), outline)) return { due: now - told.at >= timing.wordsMs, next: { told } };
  const since = isDeepStrictEqual(news?.outline, outline) ? (news?.since ?? now) : now;
  const first = news?.first ?? now;
  return { due: now - since >= timing.settleMs || now - first >= timing.restlessMs, next: { told, news: { outline, since, first } } };
}

/** Without the words. */
function outlineOf({ status: { leads, parked, degraded }, ready, missing }: Presented): unknown {
  return { leads, parked, ready, missing, degraded: degraded?.map(({ name }) => name) };
}

class Shown {
  readonly #o: ReplicaObjectOptions;
  readonly #timing: ShowTiming;
  #object: Replica | undefined;
  /** uid of the Lease that owned the object when it was written. */
  #owner: string | undefined;
  #telling: Telling | undefined;

  constructor(options: ReplicaObjectOptions) {
    this.#o = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  async loop(): Promise<void> {
    const { signal, log } = this.#o;
    while (!signal.aborted) {
      let pause = this.#timing.lookMs;
      try {
        await this.#tell();
      } catch (err) {
        // Removed, or changed by somebody else: it is applied anew, which answers with what is there.
        if (isNotFound(err) || isConflict(err)) this.#object = undefined;
        this.#telling = undefined;
        log.debug({ err }, "could not write what this replica is");
        pause = this.#timing.againMs;
      }
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #tell(): Promise<void> {
    const { client, membership, look } = this.#o;
    const owner = membership.ownerReference();
    if (!owner) return;
    const present = presentReplica(look());
    // A new Lease after an eviction: the object of before goes with the old one.
    if (this.#owner === owner.uid && !this.#isDue(present)) return;
    const object = this.#object?.metadata.ownerReferences?.[0]?.uid === owner.uid ? this.#object : await this.#make(owner);
    const body = planStatus({ object, status: present.status, conditions: [conditionOf(present)], observed: true, now: new Date() });
    this.#object = body ? await client.patch(Replica, object.metadata, { type: "merge", body }, { subresource: "status" }) : object;
    this.#owner = owner.uid;
    this.#telling = { told: { present, at: performance.now() } };
  }

  #isDue(present: Presented): boolean {
    if (!this.#telling) return true;
    const { due, next } = planTelling(this.#telling, present, { now: performance.now(), timing: this.#timing });
    this.#telling = next;
    return due;
  }

  #make(owner: NonNullable<ReturnType<Membership["ownerReference"]>>): Promise<Replica> {
    const { client, membership, operations } = this.#o;
    const draft = { metadata: { namespace: SYSTEM_NAMESPACE, name: membership.identity, ownerReferences: [owner] }, spec: { operations: [...operations] } };
    return client.apply(Replica, draft, { fieldManager: "cupola-replica", force: true });
  }
}

function conditionOf({ ready, message }: Presented): ConditionDraft {
  return ready ? { type: "Ready", status: "True", reason: "Serving", message } : { type: "Ready", status: "False", reason: "NotReady", message };
}
