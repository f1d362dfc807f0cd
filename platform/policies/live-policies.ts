// The operator's policies as this process knows them: templates and constraints are watched and prepared again after each change.
import type { Logger } from "pino";
import { constraintKindOf, constraintVersion, type Constraint } from "../../crds/policy-template/constraint.ts";
import { NO_POLICIES, preparePolicies, rulesInForce, type Policies } from "../../crds/policy-template/policies.ts";
import { hasReads, PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { DynamicWatches } from "../../kube/cache/dynamic-watches.ts";
import type { Informers, InformerHandle } from "../../kube/cache/informers.ts";
import type { Store } from "../../kube/cache/reader.ts";
import type { CheckResult } from "../../kube/server/readiness.ts";

export interface LivePolicies {
  /** An immutable set that has every change this process has received; another one after each change. Without the right to read templates it is empty: the API server still judges. */
  policies(): Policies;
  /** Whether all that existed at the start is in the set, as a check of readiness. */
  check(): CheckResult;
  /** Why the set may lack policies; undefined when all are known. A kind that is not served has no constraints. */
  gap(): string | undefined;
  /** Constraints in force here whose rules read other objects, by `constraintVersion`, and why others are missing; undefined while they are listed. */
  report(): PolicyReport | undefined;
  /** Calls `listener` after each preparation. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

export interface PolicyReport {
  applied: string[];
  error?: string;
}

export interface LivePoliciesOptions {
  informers: Informers;
  log: Pick<Logger, "error">;
  now?: () => Date;
}

/** Changes within this time are one; a user who applies a folder of constraints makes many. */
const DEBOUNCE_MS = 50;
/** The longest delay that setTimeout keeps. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Starts the watches. `close` ends them. */
export function startLivePolicies(options: LivePoliciesOptions): LivePolicies {
  return new WatchedPolicies(options);
}

const LISTING = "policies and their constraints are being listed";

class WatchedPolicies implements LivePolicies {
  readonly #options: Required<LivePoliciesOptions>;
  readonly #templates: InformerHandle<PolicyTemplate>;
  readonly #watches: DynamicWatches;
  /** Stores of constraints by `plural.group`, with the end of their subscriptions. */
  readonly #stores = new Map<string, { store: Store<Constraint>; unsubscribe: () => void }>();
  readonly #unsubscribe: (() => void)[];
  readonly #listeners = new Set<() => void>();
  #current = NO_POLICIES;
  #isPrepared = false;
  #applied: string[] = [];
  #fault: string | undefined;
  #pending: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ informers, log, now = () => new Date() }: LivePoliciesOptions) {
    this.#options = { informers, log, now };
    this.#templates = informers.ensure(PolicyTemplate);
    this.#watches = informers.dynamicWatches({ name: "policies", deliver: () => this.#schedule() });
    const { store } = this.#templates;
    this.#unsubscribe = [store.onChange(() => this.#schedule()), store.onStateChange(() => this.#schedule())];
    this.#schedule();
  }

  policies(): Policies {
    if (this.#pending) this.#prepareNow();
    return this.#current;
  }

  check(): CheckResult {
    if (this.#isListing()) return LISTING;
    const names = this.#forbidden();
    return (
      names === "" || {
        degraded: `operator policy is left to the API server and starts wait, since this process may not watch ${names}`,
      }
    );
  }

  gap(): string | undefined {
    if (this.#isListing()) return LISTING;
    const names = this.#forbidden();
    return names === "" ? undefined : `this process may not watch ${names}`;
  }

  report(): PolicyReport | undefined {
    if (this.#isListing()) return undefined;
    const error = this.gap() ?? this.#fault;
    return { applied: this.#applied, ...(error !== undefined && { error }) };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #listStores(): Pick<Store, "synced" | "parkReason" | "ref">[] {
    return [this.#templates.store, ...[...this.#stores.values()].map(({ store }) => store)];
  }

  #isListing(): boolean {
    return !this.#isPrepared || this.#listStores().some(({ synced, parkReason }) => !synced && !parkReason);
  }

  /** Names of the kinds that this process may not watch. */
  #forbidden(): string {
    return this.#listStores()
      .filter(({ parkReason }) => parkReason !== undefined && parkReason !== "NoKind")
      .map(({ ref }) => resourceId(ref))
      .join(", ");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pending);
    clearTimeout(this.#expiry);
    this.#listeners.clear();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const { unsubscribe } of this.#stores.values()) unsubscribe();
    await this.#watches.close();
    this.#templates.release();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#pending ??= setTimeout(() => this.#prepareNow(), DEBOUNCE_MS).unref();
  }

  #prepareNow(): void {
    clearTimeout(this.#pending);
    this.#pending = undefined;
    this.#prepare();
  }

  #prepare(): void {
    const templates = this.#templates.store.synced ? this.#templates.store.list() : [];
    this.#watch(templates.filter((template) => rulesInForce(template) !== undefined));
    try {
      this.#current = preparePolicies({
        templates,
        constraintsOf: (kind) => this.#constraintsOf(kind),
        now: this.#options.now(),
        previous: this.#current,
      });
      this.#applied = listApplied(this.#current, templates);
      this.#fault = undefined;
    } catch (err) {
      this.#fault = `policies cannot be prepared: ${err instanceof Error ? err.message : String(err)}`;
      this.#options.log.error({ err }, "policies cannot be prepared; those before the last change stay in force here");
    }
    this.#isPrepared = this.#templates.store.synced || this.#templates.store.parkReason !== undefined;
    this.#wakeAt(this.#current.expires);
    for (const listener of this.#listeners) listener();
  }

  /** Watches the constraints of exactly these templates. */
  #watch(templates: readonly PolicyTemplate[]): void {
    const wanted = new Map(templates.map((template) => [template.metadata.name, kindOf(template)]));
    this.#watches.replace([...wanted].map(([name, ref]) => [{ ref }, name]));
    const ids = new Set([...wanted.values()].map((ref) => resourceId(ref)));
    for (const [id, { unsubscribe }] of this.#stores)
      if (!ids.has(id)) {
        unsubscribe();
        this.#stores.delete(id);
      }
    for (const ref of wanted.values()) if (!this.#stores.has(resourceId(ref))) this.#follow(ref);
  }

  #follow(ref: ConstraintKind): void {
    const store = this.#options.informers.store(ref);
    const undo = [store.onChange(() => this.#schedule()), store.onStateChange(() => this.#schedule())];
    this.#stores.set(resourceId(ref), { store, unsubscribe: () => undo.forEach((each) => each()) });
  }

  /** None while the kind cannot be read: it may have gone, and with it its constraints. */
  #constraintsOf(kind: string): Constraint[] {
    const { store } = [...this.#stores.values()].find((one) => one.store.ref.kind === kind) ?? {};
    return store?.synced ? store.list() : [];
  }

  /** Prepares again when an exception ends. */
  #wakeAt(time: number): void {
    clearTimeout(this.#expiry);
    if (time === Infinity) return;
    const delay = Math.min(time - this.#options.now().getTime(), MAX_DELAY_MS);
    this.#expiry = setTimeout(() => this.#prepare(), Math.max(delay, DEBOUNCE_MS)).unref();
  }
}

/** Replicas report so many at most. */
const MAX_APPLIED = 1_000;

function listApplied({ byConstraint }: Policies, templates: readonly PolicyTemplate[]): string[] {
  const generations = new Map(templates.map(({ spec, status }) => [spec.kind, status?.inForce?.generation]));
  return [...byConstraint.values()]
    .filter(({ template }) => hasReads(template))
    .map(({ template, constraint }) => constraintVersion(constraint, generations.get(template.kind)))
    .sort()
    .slice(0, MAX_APPLIED);
}

type ConstraintKind = ResourceRef<Constraint>;

function kindOf(template: PolicyTemplate): ConstraintKind {
  return constraintKindOf({ spec: rulesInForce(template) ?? template.spec }) as unknown as ConstraintKind;
}
