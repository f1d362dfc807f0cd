// Deletes the policies of constraints that are gone, at once. Kubernetes' garbage collector may never do so: it asks for the owner, whose kind goes with its template.
import type { Logger } from "pino";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import type { OwnershipMarkers } from "../../kube/controller/controller.ts";
import { CONSTRAINT_CONTROLLER } from "./constraint.ts";

/** A constraint, as its policies name it. */
export interface PolicyOwner {
  kind: string;
  name: string;
  uid: string;
}

export interface LeftoverPoliciesOptions {
  client: KubeClient;
  informers: Pick<Informers, "ensure">;
  ownership: OwnershipMarkers;
  isGone: (owner: PolicyOwner) => Promise<boolean>;
  log: Logger;
}

const RETRY_MS = 5_000;

export class LeftoverPolicies {
  readonly #options: LeftoverPoliciesOptions;
  /** Bindings first: a policy without one has no effect. */
  readonly #stores;
  readonly #unsubscribe: (() => void)[];
  readonly #labels: Readonly<Record<string, string>>;
  #running: Promise<void> | undefined;
  #isAskedAgain = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LeftoverPoliciesOptions) {
    this.#options = options;
    this.#labels = { [options.ownership.controllerLabel]: CONSTRAINT_CONTROLLER };
    // The watch of the constraints' controllers.
    const labelSelector = options.ownership.controllerLabel;
    const handles = ([ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicy] as ResourceRef[]).map((ref) =>
      options.informers.ensure(ref, { labelSelector }),
    );
    this.#stores = handles.map(({ store }) => store);
    this.#unsubscribe = handles.flatMap(({ store, release }) => [
      store.onChange(({ type }) => type === "added" && this.check()),
      store.onStateChange(() => this.check()),
      release,
    ]);
  }

  /** Looks for policies to delete; calls while it looks are one more look. */
  check(): void {
    this.#isAskedAgain = true;
    if (this.#isClosed) return;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#running;
    for (const each of this.#unsubscribe) each();
  }

  async #run(): Promise<void> {
    while (this.#isAskedAgain && !this.#isClosed) {
      this.#isAskedAgain = false;
      try {
        await this.#deleteLeftovers();
      } catch (err) {
        this.#options.log.warn({ err }, "policies of deleted constraints stay for now; their removal is retried");
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.check(), RETRY_MS).unref();
      }
    }
  }

  async #deleteLeftovers(): Promise<void> {
    const verdicts = new Map<string, boolean>();
    for (const store of this.#stores)
      for (const object of store.synced ? store.list({ labels: this.#labels }) : []) {
        const [owner] = object.metadata.ownerReferences ?? [];
        if (!owner || object.metadata.deletionTimestamp) continue;
        const isGone = verdicts.get(owner.uid) ?? (await this.#options.isGone(owner));
        verdicts.set(owner.uid, isGone);
        if (isGone) await this.#delete(store.ref, object);
      }
  }

  async #delete(ref: ResourceRef, { metadata: { name, uid } }: KubeObject): Promise<void> {
    await ignoreGone(this.#options.client.delete(ref, { name }, { ...(uid && { preconditions: { uid } }) }));
  }
}
