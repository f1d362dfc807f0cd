// Creates, renews and deletes the Leases of members. ObservedMembers decides who is alive.
import { Lease } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../client/errors.ts";
import { hasReached } from "../api/resource-version.ts";
import { omitUndefined } from "../api/omit-undefined.ts";
import type { MembershipOptions, MembershipTiming } from "./member.ts";
import { toMicroTime } from "../api/times.ts";

/** The Lease of this process. */
export class OwnLease {
  readonly #options: MembershipOptions;
  readonly #timing: MembershipTiming;
  readonly #signal: AbortSignal;
  #lease: Lease | undefined;
  #renewedAt = -Infinity;
  /** The version of the last answer, also where that was an earlier Lease of this process. */
  #newestVersion = "";

  constructor(options: MembershipOptions, timing: MembershipTiming, signal: AbortSignal) {
    this.#options = options;
    this.#timing = timing;
    this.#signal = signal;
  }

  /** The Lease as last answered; undefined before creation and after its loss. */
  get object(): Lease | undefined {
    return this.#lease;
  }

  /** Renewed so recently that no member can have expired it. */
  get isFresh(): boolean {
    return this.#lease !== undefined && performance.now() - this.#renewedAt < this.#timing.renewDeadlineMs;
  }

  /** @throws KubeError; AlreadyExists after deleting the Lease of an earlier process */
  async create(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    const { client, namespace, group, groupLabel, identity } = this.#options;
    const started = performance.now();
    const time = this.#time();
    const draft = {
      metadata: {
        namespace,
        name: `${group}-${identity}`,
        labels: { [groupLabel]: group },
        annotations: omitUndefined(annotations) as Record<string, string>,
      },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(this.#timing.leaseDurationMs / 1000),
        acquireTime: time,
        renewTime: time,
      },
    };
    try {
      this.#record(
        await client.create(Lease, draft, { deadlineMs: this.#timing.renewDeadlineMs / 2, signal: this.#signal }),
        started,
      );
    } catch (error) {
      // An earlier process had this identity. Its Lease must not vouch for caches that this one has not filled.
      if (isAlreadyExists(error)) await client.delete(Lease, draft.metadata).catch(ignoreNotFound);
      throw error;
    }
  }

  /** @throws KubeError; the Lease is lost when another member has deleted it */
  async renew(lease: Lease): Promise<void> {
    const started = performance.now();
    const body = { metadata: { uid: lease.metadata.uid }, spec: { renewTime: this.#time() } };
    try {
      this.#record(
        await this.#options.client.patch(
          Lease,
          lease.metadata,
          { type: "merge", body },
          { deadlineMs: this.#timing.renewDeadlineMs / 2, signal: this.#signal },
        ),
        started,
      );
    } catch (error) {
      // Others have evicted this process; it rejoins.
      if (isNotFound(error) || isConflict(error)) this.#lease = undefined;
      throw error;
    }
  }

  /** @throws KubeError */
  annotate({ metadata }: Lease, annotations: Readonly<Record<string, string | undefined>>): Promise<Lease> {
    // null deletes a field in a merge patch.
    const patch = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name, value ?? null]));
    return this.#options.client.patch(Lease, metadata, {
      type: "merge",
      body: { metadata: { uid: metadata.uid, annotations: patch } },
    });
  }

  /** Handles the deletion of a Lease. Returns whether it was this process's. */
  clearIfDeleted(uid: string | undefined): boolean {
    if (uid === undefined || uid !== this.#lease?.metadata.uid) return false;
    this.#lease = undefined;
    return true;
  }

  /** Never rejects: a remaining Lease expires. */
  async remove(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    if (!lease) return;
    try {
      await this.#options.client.delete(Lease, lease.metadata, {
        preconditions: { uid: lease.metadata.uid ?? "" },
        deadlineMs: this.#timing.renewIntervalMs,
      });
    } catch (err) {
      this.#options.log.debug(
        { err, member: this.#options.identity },
        "could not delete the lease of this process; it will expire",
      );
    }
  }

  #time(): string {
    return toMicroTime(this.#options.now?.() ?? new Date());
  }

  #record(lease: Lease, started: number): void {
    const { resourceVersion = "" } = lease.metadata;
    const before = this.#newestVersion;
    if (before !== "" && !hasReached(resourceVersion, before))
      this.#options.onRewound?.({ before, now: resourceVersion });
    this.#newestVersion = resourceVersion;
    this.#lease = lease;
    this.#renewedAt = started;
  }
}

/** Deletes another member's Lease by uid, and with `resourceVersion` only if it was not renewed since. False when it is already gone or replaced. @throws KubeError */
export async function removeLease(
  client: KubeClient,
  at: { namespace: string; name: string },
  options: { uid: string; resourceVersion?: string; deadlineMs: number },
): Promise<boolean> {
  const { deadlineMs, ...preconditions } = options;
  try {
    await client.delete(Lease, at, { preconditions, deadlineMs });
    return true;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return false;
  }
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
