// What happens to one key: read, finalize or reconcile, and then every write that follows from the result. The only place that writes for controllers.
import type { Logger } from "pino";
import type { Children } from "./owned-objects.ts";
import type { KubeClient } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/errors.ts";
import type { Controller, ReconcileContext, ReconcileResult } from "./controller.ts";
import { DONE, type Ending, isOutrun, isSilent, RECONCILED, toEnding, toOutcome } from "./reconcile-outcome.ts";
import { type Inputs, recordInputs } from "./read-set.ts";
import { partsOf } from "./aggregate-errors.ts";
import { mergeDiffNamed } from "../api/merge-diff.ts";
import { keyOf, type KubeObject, type ObjectKey, type OwnerReference } from "../api/object.ts";
import { planStatus } from "./plan-status.ts";
import type { Outcome } from "./workqueue.ts";
import { NotPermitted, NotSynced, type Store } from "../cache/reader.ts";
import { resourceId } from "../api/resource-ref.ts";
import type { Standstill } from "./stale-cache-monitor.ts";
import { hasReached } from "../cache/store.ts";

export interface ReconcilerOptions {
  controller: Controller;
  client: KubeClient;
  fieldManager: string;
  store: Store;
  children: Children;
  context: ReconcileContext;
  log: Logger;
  /** Every patch of the object carries the version it was decided on. */
  versioned?: boolean;
  /** Is told which keys do not get on. */
  standstill?: Standstill;
}

export interface Reconciler {
  /** One turn for the key; what it throws is a fault and is to be tried again. */
  run(key: ObjectKey): Promise<Outcome>;
  /** The owner with that uid is (or seems) gone; its children are looked after at the next turn of the key. */
  gone(key: string, uid: string): void;
  /** Keys whose gone owners still have children, perhaps out of sight. */
  left(): string[];
}

/** So long the version that a patch was refused at is not tried again: the watch brings a newer one. Then once more, should another reason have refused it. */
const OUTDATED_MS = 5_000;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  return new KeyReconciler(options);
}

class KeyReconciler implements Reconciler {
  readonly #o: ReconcilerOptions;
  /** Answers to our own writes that the cache has not caught up with. */
  readonly #latest = new Map<string, KubeObject>();
  readonly #gone = new Map<string, Set<string>>();
  /** Versions at which the server has refused our patch, since it has a newer one; by key. */
  readonly #outdated = new Map<string, { version: string; at: number }>();

  constructor(options: ReconcilerOptions) {
    this.#o = options;
  }

  gone(key: string, uid: string): void {
    this.#latest.delete(uid);
    const uids = this.#gone.get(key) ?? new Set();
    this.#gone.set(key, uids.add(uid));
  }

  left(): string[] {
    return [...this.#gone.keys()];
  }

  async run(key: ObjectKey): Promise<Outcome> {
    try {
      return await this.#turn(key);
    } catch (error) {
      this.#o.standstill?.passed(keyOf(key));
      // It can be neither read nor told; the watch that resumes wakes it.
      if (error instanceof NotPermitted) return DONE;
      throw error;
    }
  }

  async #turn(key: ObjectKey): Promise<Outcome> {
    await this.#cleanUp(key);
    const cached = this.#o.store.find(key);
    const object = cached && this.#freshest(cached);
    this.#noteVersion(key, object?.metadata.resourceVersion);
    try {
      const outcome = object ? await this.#workOn(object) : DONE;
      this.#o.standstill?.passed(keyOf(key));
      return outcome;
    } catch (error) {
      if (isOutrun(error)) return this.#outrun(key, error);
      if (isNotFound(error) && !this.#o.store.find(key)) return DONE;
      throw error;
    }
  }

  #outrun(key: ObjectKey, error: unknown): Outcome {
    const [stale] = partsOf(error).filter((one) => one instanceof NotSynced);
    return this.#o.standstill?.outrun(keyOf(key), stale?.resource ?? resourceId(this.#o.controller.for)) ?? { then: "retry" };
  }

  #workOn(object: KubeObject): Promise<Outcome> {
    const { controller } = this.#o;
    if (object.metadata.deletionTimestamp) return this.#finalize(object);
    if (controller.selects && !controller.selects(object)) return this.#letGo(object);
    return this.#reconcile(object);
  }

  async #reconcile(found: KubeObject): Promise<Outcome> {
    const { controller, context } = this.#o;
    const object = this.#wantsFinalizer(found) ? await this.#withFinalizer(found) : found;
    const inputs = this.#inputsOf(object);
    let ending: Ending;
    try {
      const result = await controller.reconcile(object, { ...context, read: inputs.read });
      ending = { result, ready: result.ready ?? RECONCILED, then: toOutcome(result.requeueAfterMs) };
    } catch (error) {
      ending = toEnding(error);
    }
    return this.#write(object, ending, inputs);
  }

  /** Its own kind is one of them: it may be what has gone silent. */
  #inputsOf(object: KubeObject): Inputs {
    const { controller, context } = this.#o;
    const inputs = recordInputs(context.read, context.client);
    inputs.note(controller.for, object);
    return inputs;
  }

  async #write(object: KubeObject, ending: Ending, inputs: Inputs): Promise<Outcome> {
    let current = object;
    let last = ending;
    let isMade = false;
    try {
      current = await this.#writeObject(object, ending.result);
      inputs.note(this.#o.controller.for, current);
      if (ending.result.createOnce) await this.#o.children.createOnce(ending.result.createOnce);
      isMade = true;
      if (ending.result.children) await this.#o.children.sync(current, ending.result.children, inputs.confirm);
    } catch (error) {
      if (isOutrun(error)) throw error;
      // A status may name what was to be created: it must not be said before that is there.
      last = { ...toEnding(error), result: isMade ? ending.result : {} };
    }
    return this.#end(current, last);
  }

  async #end(object: KubeObject, ending: Ending): Promise<Outcome> {
    if (!isSilent(ending)) await this.#writeStatus(object, ending);
    if (ending.fault !== undefined) throw ending.fault;
    return ending.then;
  }

  async #writeObject(object: KubeObject, result: ReconcileResult): Promise<KubeObject> {
    const labels = mergeDiffNamed(object.metadata.labels, result.labels);
    const annotations = mergeDiffNamed(object.metadata.annotations, result.annotations);
    const spec = mergeDiffNamed(object["spec"] as Record<string, unknown> | undefined, result.spec);
    const owners = withOwners(object, result.ownerReferences ?? []);
    if (!labels && !annotations && !spec && !owners) return object;
    const metadata = { ...(labels && { labels }), ...(annotations && { annotations }), ...owners };
    return this.#patch(object, { ...(Object.keys(metadata).length > 0 && { metadata }), ...(spec && { spec }) });
  }

  async #writeStatus(object: KubeObject, { result, ready }: Ending): Promise<void> {
    const { controller, context } = this.#o;
    if (controller.writesStatus === false) return;
    const type = controller.condition ?? "Ready";
    const conditions = [{ type, ...ready }, ...(result.conditions ?? [])];
    const body = planStatus({ object, status: result.status, conditions, observed: type === "Ready", now: context.now() });
    if (body) await this.#patch(object, body, "status");
  }

  /** An object under deletion: clean up, then let it go. Without our finalizer it is none of our business. */
  async #finalize(object: KubeObject): Promise<Outcome> {
    const { controller, context, children } = this.#o;
    if (!controller.finalizer || !object.metadata.finalizers?.includes(controller.finalizer)) return DONE;
    try {
      await controller.finalize?.(object, context);
    } catch (error) {
      return this.#end(object, toEnding(error));
    }
    await children.remove(children.of(object.metadata.uid ?? ""));
    await this.#withoutFinalizer(object, controller.finalizer);
    return DONE;
  }

  /** The object was selected once and is not any more: what we made for it goes, as under deletion. */
  async #letGo(object: KubeObject): Promise<Outcome> {
    const { controller, context, children } = this.#o;
    const left = children.of(object.metadata.uid ?? "");
    // It may be selected again, where our view of it is old.
    if (left.length > 0) await this.#inputsOf(object).confirm();
    await children.remove(left);
    if (!controller.finalizer || !object.metadata.finalizers?.includes(controller.finalizer)) return DONE;
    await controller.finalize?.(object, context);
    await this.#withoutFinalizer(object, controller.finalizer);
    return DONE;
  }

  /** Children of owners that are gone. The server is asked, because another replica's owner may be newer than our cache. */
  async #cleanUp(key: ObjectKey): Promise<void> {
    const id = key.namespace ? `${key.namespace}/${key.name}` : key.name;
    const { children, client, controller } = this.#o;
    for (const uid of this.#gone.get(id) ?? []) {
      // Where there is an owner reference, Kubernetes' own garbage collection does it.
      const left = children.of(uid).filter(({ child }) => !child.metadata.ownerReferences?.some((reference) => reference.uid === uid));
      const owner = left.length > 0 ? await client.find(controller.for, key) : undefined;
      if (owner?.metadata.uid !== uid) await children.remove(left);
      this.#gone.get(id)?.delete(uid);
    }
    if (this.#gone.get(id)?.size === 0) this.#gone.delete(id);
  }

  #wantsFinalizer(object: KubeObject): boolean {
    const { finalizer, needsFinalizer } = this.#o.controller;
    return finalizer !== undefined && !object.metadata.finalizers?.includes(finalizer) && (needsFinalizer?.(object) ?? true);
  }

  #withFinalizer(object: KubeObject): Promise<KubeObject> {
    const finalizers = [...(object.metadata.finalizers ?? []), this.#o.controller.finalizer];
    return this.#patch(object, { metadata: { resourceVersion: object.metadata.resourceVersion, finalizers } });
  }

  async #withoutFinalizer(object: KubeObject, finalizer: string): Promise<void> {
    const current = this.#freshest(object);
    const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    try {
      await this.#patch(current, { metadata: { resourceVersion: current.metadata.resourceVersion, finalizers } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #patch(object: KubeObject, body: Record<string, unknown>, subresource?: string): Promise<KubeObject> {
    const { client, controller, fieldManager, versioned } = this.#o;
    const metadata = { ...(versioned && { resourceVersion: object.metadata.resourceVersion }), ...(body["metadata"] as { resourceVersion?: string } | undefined) };
    this.#refuseOutdated(object, metadata.resourceVersion);
    const sent = Object.keys(metadata).length > 0 ? { ...body, metadata } : body;
    const answer = await client.patch(controller.for, object.metadata, { type: "merge", body: sent }, { fieldManager, ...(subresource && { subresource }) }).catch((error: unknown) => {
      if (metadata.resourceVersion !== undefined && isConflict(error)) this.#outdated.set(keyOf(object.metadata), { version: metadata.resourceVersion, at: performance.now() });
      throw error;
    });
    const { uid, deletionTimestamp, finalizers } = answer.metadata;
    // The last finalizer has gone and the object with it: perhaps the cache knows already, and nothing would ever forget it here.
    if (uid && !(deletionTimestamp && !finalizers?.length)) this.#latest.set(uid, answer);
    return answer;
  }

  #noteVersion(key: ObjectKey, version: string | undefined): void {
    if (this.#outdated.get(keyOf(key))?.version !== version) this.#outdated.delete(keyOf(key));
  }

  /** The cache is known to be behind, so the server would refuse it again. @throws NotSynced */
  #refuseOutdated({ metadata }: KubeObject, version: string | undefined): void {
    const refused = this.#outdated.get(keyOf(metadata));
    if (version === undefined || refused?.version !== version || performance.now() - refused.at > OUTDATED_MS) return;
    throw new NotSynced(resourceId(this.#o.controller.for), metadata.namespace);
  }

  /** The cached object, or the answer to our own last write while the cache is behind it. */
  #freshest(cached: KubeObject): KubeObject {
    const uid = cached.metadata.uid ?? "";
    const written = this.#latest.get(uid);
    if (!written) return cached;
    if (!hasReached(cached.metadata.resourceVersion ?? "", written.metadata.resourceVersion ?? "")) return written;
    this.#latest.delete(uid);
    return cached;
  }
}

/** The list is replaced whole, so it carries the version it was read at. */
function withOwners({ metadata }: KubeObject, wanted: readonly OwnerReference[]): { ownerReferences: OwnerReference[]; resourceVersion: string | undefined } | undefined {
  const have = metadata.ownerReferences ?? [];
  const missing = wanted.filter(({ uid }) => !have.some((owner) => owner.uid === uid));
  return missing.length > 0 ? { ownerReferences: [...have, ...missing], resourceVersion: metadata.resourceVersion } : undefined;
}
