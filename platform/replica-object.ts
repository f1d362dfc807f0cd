// Shows this process in the cluster: an object that says what it does, what it leads and which watches are parked. Written when that changes, never else.
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../kube/client/client.ts";
import { isConflict, isNotFound } from "../kube/client/errors.ts";
import type { Membership } from "../kube/membership.ts";
import { planStatus } from "../kube/plan-status.ts";
import type { ReadinessReport } from "../kube/readiness.ts";
import type { WatchStatus } from "../kube/watches.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { Replica } from "../crds/replica/replica.ts";

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
  /** Between looks, and after a write that failed. For tests. */
  timing?: { lookMs: number; againMs: number };
}

const TIMING = { lookMs: 500, againMs: 5_000 };
const MAX_PARKED = 500;

/** Keeps the object until the signal aborts; it goes with the Lease that owns it. */
export function showReplica(options: ReplicaObjectOptions): Promise<void> {
  return new Shown(options).loop();
}

type Status = Pick<NonNullable<Replica["status"]>, "leads" | "parked" | "degraded">;

/** The status fields and the Ready condition. Pure. */
export function presentReplica({ health, leads, watches }: ReplicaView): { status: Status; ready: boolean; message: string } {
  // A kind that is watched namespace by namespace is parked in each of them for itself.
  const seen = watches.flatMap(({ resource, elsewhere = [], ...whole }) => [whole, ...elsewhere].map((one) => ({ resource, ...one })));
  const parked = seen.flatMap(({ resource, namespace, parkReason }) => (parkReason ? [{ resource, ...(namespace && { namespace }), reason: parkReason }] : []));
  const key = (row: { resource: string; namespace?: string }): string => `${row.resource} ${row.namespace ?? ""}`;
  return {
    status: {
      leads: [...leads].sort(),
      parked: parked.sort((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, MAX_PARKED),
      degraded: health.degraded.map(({ name, reason }) => ({ name, reason: reason.slice(0, 4096) })).slice(0, 100),
    },
    ready: health.ready,
    message: health.pending.map(({ name, reason }) => `${name}: ${reason}`).join("; ").slice(0, 4096),
  };
}

class Shown {
  readonly #o: ReplicaObjectOptions;
  #object: Replica | undefined;
  #told: unknown;

  constructor(options: ReplicaObjectOptions) {
    this.#o = options;
  }

  async loop(): Promise<void> {
    const { signal, log, timing = TIMING } = this.#o;
    while (!signal.aborted) {
      let pause = timing.lookMs;
      try {
        await this.#tell();
      } catch (err) {
        // Removed, or changed by somebody else: it is applied anew, which answers with what is there.
        if (isNotFound(err) || isConflict(err)) this.#object = undefined;
        this.#told = undefined;
        log.debug({ err }, "could not write what this replica is");
        pause = timing.againMs;
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
    if (isDeepStrictEqual(this.#told, { present, owner: owner.uid })) return;
    const object = this.#object?.metadata.ownerReferences?.[0]?.uid === owner.uid ? this.#object : await this.#make(owner);
    const condition = { type: "Ready", status: present.ready ? "True" : "False", reason: present.ready ? "Serving" : "NotReady", message: present.message } as const;
    const body = planStatus({ object, status: present.status, conditions: [condition], observed: true, now: new Date() });
    this.#object = body ? await client.patch(Replica, object.metadata, { type: "merge", body }, { subresource: "status" }) : object;
    this.#told = { present, owner: owner.uid };
  }

  #make(owner: NonNullable<ReturnType<Membership["ownerReference"]>>): Promise<Replica> {
    const { client, membership, operations } = this.#o;
    const draft = { metadata: { namespace: SYSTEM_NAMESPACE, name: membership.identity, ownerReferences: [owner] }, spec: { operations: [...operations] } };
    return client.apply(Replica, draft, { fieldManager: "cupola-replica", force: true });
  }
}
