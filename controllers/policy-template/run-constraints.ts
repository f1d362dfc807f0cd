// Runs a controller for each kind of constraints: it starts when the kind is served and ends with its template.
import type { Logger } from "pino";
import { constraintKindOf, type Constraint } from "../../crds/policy-template/constraint.ts";
import { NO_POLICIES, preparePolicies, titleOf, type Policies } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change, Store } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { OwnershipMarkers } from "../../kube/controller/controller.ts";
import type { Term } from "../../kube/lease/leader-election.ts";
import { runControllers } from "../../kube/controller/run-controllers.ts";
import { PolicyAudit } from "./audit.ts";
import { constraintController, type PolicyReplicas } from "./constraint.ts";
import { LeftoverPolicies, type PolicyOwner } from "./leftover-policies.ts";
import { shownViolationsControllers } from "./shown-violations.ts";

export interface ConstraintRunOptions {
  client: KubeClient;
  informers: Informers;
  replicas: PolicyReplicas;
  ownership: OwnershipMarkers;
  /** As in RunControllersOptions. */
  term: Term;
  log: Logger;
}

interface KindRun {
  ref: ResourceRef<Constraint>;
  store: Store<Constraint>;
  stop: () => Promise<void>;
}

/** Watches PolicyTemplates and runs the controllers of their kinds until `stop`. */
export class ConstraintRuns {
  readonly #options: ConstraintRunOptions;
  readonly #audit: PolicyAudit;
  readonly #leftovers: LeftoverPolicies;
  readonly #runs = new Map<string, KindRun>();
  readonly #templates: Store<PolicyTemplate>;
  readonly #release: () => void;
  readonly #stopShown: () => Promise<void>;
  #policies: Policies | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: ConstraintRunOptions) {
    this.#options = options;
    this.#audit = new PolicyAudit(options.informers);
    const { store, release } = options.informers.ensure(PolicyTemplate);
    this.#templates = store;
    this.#leftovers = new LeftoverPolicies({ ...options, isGone: (owner) => this.#isGone(owner) });
    const unsubscribe = [store.onChange(() => this.#sync()), store.onStateChange(() => this.#sync())];
    this.#release = () => {
      for (const each of unsubscribe) each();
      release();
    };
    this.#stopShown = this.#startShown();
    this.#sync();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#renewal);
    clearTimeout(this.#expiry);
    this.#release();
    const runs = [...this.#runs.values()].map(({ stop }) => stop());
    await Promise.all([...runs, this.#stopShown(), this.#leftovers.close()]);
    await this.#audit.close();
  }

  /** Starts the kinds that are served and ends those whose template is gone. While templates cannot be read all stays as it is. */
  #sync(): void {
    if (!this.#templates.synced) return;
    const served = this.#list().filter(isServed);
    const kinds = new Set(served.map(({ spec }) => spec.kind));
    for (const template of served)
      if (!this.#runs.has(template.spec.kind)) this.#runs.set(template.spec.kind, this.#start(template));
    for (const [kind, run] of this.#runs) {
      if (kinds.has(kind)) continue;
      this.#runs.delete(kind);
      void run.stop();
    }
    this.#renewSoon();
  }

  #list(): PolicyTemplate[] {
    return this.#templates.synced ? this.#templates.list() : [];
  }

  #startShown(): () => Promise<void> {
    const abort = new AbortController();
    const run = runControllers({
      ...this.#options,
      controllers: shownViolationsControllers({
        findShownOn: (id) => this.#audit.findShownOn(id),
        onShownChange: (listener) => this.#audit.onShownChange(listener),
        titleOf: (violation) => titleOf(this.#policies ?? NO_POLICIES, violation),
      }),
      signal: abort.signal,
    });
    return () => {
      abort.abort();
      return run.stopped;
    };
  }

  #start(template: PolicyTemplate): KindRun {
    const { client, informers, ownership, term, log } = this.#options;
    const ref = constraintKindOf(template) as unknown as ResourceRef<Constraint>;
    const abort = new AbortController();
    const { store, release } = informers.ensure(ref);
    const unsubscribe = [
      store.onChange((change) => this.#onConstraint(change)),
      store.onStateChange(() => this.#renewSoon()),
    ];
    const run = runControllers({
      client,
      controllers: [constraintController(ref, { audit: this.#audit, replicas: this.#options.replicas })],
      informers,
      ownership,
      term,
      signal: abort.signal,
      log,
    });
    return {
      ref,
      store,
      async stop() {
        abort.abort();
        for (const each of unsubscribe) each();
        await run.stopped;
        release();
      },
    };
  }

  #onConstraint(change: Change<Constraint>): void {
    // A write of the status changes nothing about the policies.
    if (change.type !== "modified" || change.old.metadata.generation !== change.object.metadata.generation)
      this.#renewSoon();
  }

  /** A constraint is gone with its template, or when neither the cache nor the API server has it. */
  async #isGone({ kind, name, uid }: PolicyOwner): Promise<boolean> {
    if (!this.#templates.synced) return false;
    if (!this.#list().some(({ spec }) => spec.kind === kind)) return true;
    const run = this.#runs.get(kind);
    if (!run?.store.synced || run.store.byUid(uid)) return false;
    return (await this.#options.client.find(run.ref, { name }))?.metadata.uid !== uid;
  }

  /** The audit follows templates and constraints; a burst of changes is one renewal. */
  #renewSoon(): void {
    this.#renewal ??= setTimeout(() => {
      this.#renewal = undefined;
      this.#renew();
    }, 0);
  }

  /** Whether all constraints are known. A kind that is not served has none. */
  #isWhole(): boolean {
    const stores = [...this.#runs.values()].map(({ store }) => store);
    return this.#templates.synced && stores.every(({ synced, parkReason }) => synced || parkReason === "NoKind");
  }

  #renew(): void {
    const now = new Date();
    const constraintsOf = (kind: string): Constraint[] => {
      const store = this.#runs.get(kind)?.store;
      return store?.synced ? store.list() : [];
    };
    this.#policies = preparePolicies({
      templates: this.#list(),
      constraintsOf,
      now,
      ...(this.#policies && { previous: this.#policies }),
    });
    this.#audit.replace(this.#policies.byConstraint.values(), this.#isWhole());
    this.#leftovers.check();
    clearTimeout(this.#expiry);
    if (this.#policies.expires === Infinity) return;
    const delayMs = Math.min(this.#policies.expires - now.getTime(), LONGEST_TIMER_MS);
    this.#expiry = setTimeout(() => this.#renew(), delayMs).unref();
  }
}

/** A timer of Node.js lasts 24 days at most. */
const LONGEST_TIMER_MS = 86_400_000;

function isServed({ status }: PolicyTemplate): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return status?.inForce !== undefined && ready?.reason !== "KindPending";
}
