// Finds stored objects that violate constraints, from caches and incrementally: an object is judged when it, its namespace's labels, a constraint or an object that its rules read changes.
import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { constraintId } from "../../crds/policy-template/constraint.ts";
import { evaluate, mayReach, type JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { createRefs, type ListObjects } from "../../crds/policy-template/refs.ts";
import { listShownOn } from "../../crds/policy-template/shown-on.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import { toVerdict, type Verdict, type Violation } from "../../crds/policy-template/verdict.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ChangedKey, DynamicWatches, WatchKey } from "../../kube/cache/dynamic-watches.ts";
import { ifReadable, NotPermitted, NotSynced, NotWatched } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { Changes } from "./changes.ts";
import { FoundViolations } from "./found-violations.ts";
import { areaOf, ReadChanges, type Area } from "./read-changes.ts";

/** Result of the audit for one constraint. */
export interface AuditResult {
  /** Objects that were judged. */
  objects: number;
  /** Those of them whose verdict is not known: objects that the rules read cannot be read now. */
  unknown: number;
  /** By namespace and name. */
  violations: readonly Violation[];
}

/** The event loop is free again after this time. */
const SLICE_MS = 10;
/** A burst of changes is one change of the result. */
const NOTIFY_MS = 500;
/** A cache that is not filled yet is asked again. */
const RETRY_MS = 1_000;
/** Between judgements of a constraint that has unknown verdicts: a look at all its objects. */
const UNKNOWN_RETRY_MS = 10_000;
/** Changes of objects that rules read are collected for this time: each may concern a whole org. */
const READS_MS = 1_000;

interface Audited {
  constraint: JudgingConstraint;
  /** Whether all stored objects were judged. */
  isComplete: boolean;
  /** Objects whose verdict is not known. */
  unknown: Set<string>;
}

export class PolicyAudit {
  readonly #watches: DynamicWatches;
  readonly #read: Reader;
  readonly #sizeOf: (ref: ResourceRef) => number;
  readonly #audited = new Map<string, Audited>();
  readonly #found = new FoundViolations();
  /** Whether the audited constraints are all that exist. */
  #isWhole = false;
  readonly #constraintChanges = new Changes(NOTIFY_MS);
  readonly #shownChanges = new Changes(NOTIFY_MS, () => this.#isComplete());
  readonly #readChanges = new ReadChanges(READS_MS, (id, area) => void this.#judgeArea(id, area));
  /** Labels of namespaces as the first object was judged by them, until the namespace's change is delivered. */
  readonly #labels = new Map<string, Labels>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Constraints whose unknown verdicts are judged again soon. */
  readonly #retrying = new Set<string>();
  #isClosed = false;

  constructor(informers: Pick<Informers, "dynamicWatches" | "read" | "store">) {
    this.#read = informers.read;
    this.#sizeOf = (ref) => informers.store(ref).size;
    this.#watches = informers.dynamicWatches({ name: "policy-audit", deliver: (batch) => this.#judgeBatch(batch) });
  }

  /** Replaces the audited constraints. Those that did not change keep their results. `isWhole`: no other constraint exists. */
  replace(constraints: Iterable<JudgingConstraint>, isWhole = true): void {
    this.#isWhole = isWhole;
    const wanted = new Map([...constraints].map((one) => [constraintId(one.constraint), one]));
    for (const [id, { constraint }] of [...this.#audited])
      if (wanted.get(id) !== constraint) {
        this.#audited.delete(id);
        this.#shownChanges.add(this.#found.delete(id));
      }
    this.#watches.replace([...wanted].flatMap(([id, one]) => listWatches(one).map((key) => [key, id] as const)));
    for (const [id, constraint] of wanted) {
      if (this.#audited.has(id)) continue;
      const audited = { constraint, isComplete: false, unknown: new Set<string>() };
      this.#audited.set(id, audited);
      void this.#judgeStored(id, audited);
    }
    this.#shownChanges.flushSoon();
  }

  /** The result for a constraint by its id; undefined until all stored objects were judged. */
  find(id: string): AuditResult | undefined {
    const audited = this.#audited.get(id);
    if (!audited?.isComplete) return undefined;
    const sizes = subjectsOf(audited.constraint).map(this.#sizeOf);
    return {
      objects: sizes.reduce((sum, size) => sum + size, 0),
      unknown: audited.unknown.size,
      violations: this.#found.ofConstraint(id),
    };
  }

  /** Violations that an App or a Space shows, by its id; undefined until all stored objects were judged by all constraints. */
  findShownOn(id: string): readonly Violation[] | undefined {
    return this.#isComplete() ? this.#found.shownOnObject(id) : undefined;
  }

  /** Calls `listener` with the id of a constraint whose violations changed. Returns the unsubscribe function. */
  onChange(listener: (constraint: string) => void): () => void {
    return this.#constraintChanges.subscribe(listener);
  }

  /** Calls `listener` with the id of an App or a Space that shows other violations now. Returns the unsubscribe function. */
  onShownChange(listener: (id: string) => void): () => void {
    return this.#shownChanges.subscribe(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#constraintChanges.close();
    this.#shownChanges.close();
    this.#readChanges.close();
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#watches.close();
  }

  #isComplete(): boolean {
    return this.#isWhole && [...this.#audited.values()].every(({ isComplete }) => isComplete);
  }

  async #judgeStored(id: string, audited: Audited): Promise<void> {
    const isCurrent = (): boolean => !this.#isClosed && this.#audited.get(id) === audited;
    try {
      const slice = createSlice();
      const reaches = this.#reachOf(audited.constraint);
      for (const { ref, key } of this.#listStored(audited.constraint)) {
        await slice();
        if (!isCurrent()) return;
        if (!reaches(ref.kind, key.namespace)) continue;
        this.#judge(id, audited, { kind: ref.kind, key, object: this.#read.find(ref, key) });
      }
      audited.isComplete = true;
      this.#report(id);
      this.#shownChanges.flushSoon();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      if (isCurrent()) this.#later(RETRY_MS, () => void this.#judgeStored(id, audited));
    }
  }

  /** Whether the constraint selects the namespace of an object: most constraints select few, and there is nothing to judge elsewhere. */
  #reachOf(constraint: JudgingConstraint): (kind: string, namespace: string | undefined) => boolean {
    const known = new Map<string, boolean>();
    return (kind, namespace) => {
      if (namespace === undefined) return true;
      const at = `${kind} ${namespace}`;
      const reaches =
        known.get(at) ?? mayReach(constraint, { object: { kind }, namespaceLabels: this.#labelsOf(namespace) });
      known.set(at, reaches);
      return reaches;
    };
  }

  #listStored(constraint: JudgingConstraint, area: Area = "everywhere"): { ref: ResourceRef; key: ObjectKey }[] {
    const filters = area === "everywhere" ? [{ partial: true }] : [...area].map((namespace) => ({ namespace }));
    return subjectsOf(constraint).flatMap((ref) =>
      filters.flatMap((filter) => this.#read.list(ref, filter).map(({ metadata }) => ({ ref, key: metadata }))),
    );
  }

  async #judgeBatch(batch: readonly ChangedKey[]): Promise<void> {
    const slice = createSlice();
    for (const { ref, store, key } of batch) {
      await slice();
      if (ref.kind === Namespace.kind) await this.#judgeNamespace(store.find(key), key.name);
      else {
        this.#judgeObject(ref, key, store.find(key));
        this.#noteReaders(ref, key);
      }
    }
  }

  /** Objects whose rules read the changed one are judged again. */
  #noteReaders({ kind }: ResourceRef, key: ObjectKey): void {
    for (const [id, { constraint }] of this.#audited)
      for (const read of constraint.template.reads ?? [])
        if (read.kind === kind) this.#readChanges.add(id, areaOf(read, key, this.#read));
  }

  async #judgeArea(id: string, area: Area): Promise<void> {
    const audited = this.#audited.get(id);
    if (!audited) return;
    if (!audited.isComplete) return this.#readChanges.add(id, area);
    const slice = createSlice();
    try {
      for (const { ref, key } of this.#listStored(audited.constraint, area)) {
        await slice();
        if (this.#isClosed || this.#audited.get(id) !== audited) return;
        this.#judge(id, audited, { kind: ref.kind, key, object: this.#read.find(ref, key) });
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#readChanges.add(id, area);
    }
  }

  #judgeObject(ref: ResourceRef, key: ObjectKey, object: KubeObject | undefined): void {
    for (const [id, audited] of this.#audited)
      if (audited.constraint.template.subjects.includes(ref.kind))
        this.#judge(id, audited, { kind: ref.kind, key, object });
  }

  /** Judges the objects of a namespace again when its labels have changed: they say the org and the space. */
  async #judgeNamespace(namespace: KubeObject | undefined, name: string): Promise<void> {
    const labels = namespace?.metadata.labels ?? {};
    const known = this.#labels.get(name);
    if (namespace === undefined) this.#labels.delete(name);
    // Without an object that was judged by labels from before, nothing is to be judged again.
    else if (known !== undefined) this.#labels.set(name, labels);
    if (known === undefined || isDeepStrictEqual(known, labels)) return;
    const slice = createSlice();
    const subjects = new Map(
      [...this.#audited.values()].flatMap(({ constraint }) => subjectsOf(constraint)).map((ref) => [ref.kind, ref]),
    );
    for (const ref of subjects.values())
      for (const object of ref.namespaced ? this.#read.list(ref, { namespace: name }) : []) {
        await slice();
        this.#judgeObject(ref, object.metadata, object);
      }
  }

  #judge(id: string, { constraint, unknown }: Audited, { kind, key, object }: Stored): void {
    const at = `${kind} ${keyOf(key)}`;
    const verdict = object ? this.#verdictOf(constraint, object) : toVerdict([]);
    const { violations } = verdict;
    const shownOn = object && violations.length > 0 ? listShownOn(object) : [];
    const change = this.#found.set({ constraint: id, at }, { violations, shownOn });
    const isUnknown = verdict.unknown.length > 0;
    if (change.isChanged || isUnknown !== unknown.has(at)) this.#report(id);
    this.#shownChanges.add(change.holders);
    if (!isUnknown) return void unknown.delete(at);
    unknown.add(at);
    this.#retryUnknown(id);
  }

  /** A cache that is readable again may have no change to tell. */
  #retryUnknown(id: string): void {
    if (this.#retrying.has(id)) return;
    this.#retrying.add(id);
    this.#later(UNKNOWN_RETRY_MS, () => {
      this.#retrying.delete(id);
      this.#readChanges.add(id, "everywhere");
    });
  }

  #verdictOf(constraint: JudgingConstraint, object: KubeObject): Verdict {
    const { namespace } = object.metadata;
    const namespaceLabels = namespace === undefined ? undefined : this.#labelsOf(namespace);
    const list: ListObjects = (ref, filter) => ifReadable(() => this.#read.list(ref, filter));
    const refs = createRefs(list, { object, namespaceLabels });
    return evaluate([constraint], { point: "audit", operation: "CREATE", object, namespaceLabels, refs });
  }

  #labelsOf(namespace: string): Labels {
    const labels = this.#read.find(Namespace, { name: namespace })?.metadata.labels ?? {};
    if (!this.#labels.has(namespace)) this.#labels.set(namespace, labels);
    return labels;
  }

  #report(id: string): void {
    if (this.#audited.get(id)?.isComplete) this.#constraintChanges.add([id]);
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms).unref();
    this.#timers.add(timer);
  }
}

type Labels = Readonly<Record<string, string>>;

interface Stored {
  kind: string;
  key: ObjectKey;
  object: KubeObject | undefined;
}

function subjectsOf({ template }: JudgingConstraint): ResourceRef[] {
  return template.subjects.flatMap((kind) => findSubject(kind) ?? []);
}

function listWatches(constraint: JudgingConstraint): WatchKey[] {
  const read = (constraint.template.reads ?? []).flatMap(({ kind }) => findSubject(kind) ?? []);
  return [...subjectsOf(constraint), ...read, Namespace as ResourceRef].map((ref) => ({ ref }));
}

function isUnreadable(error: unknown): boolean {
  return error instanceof NotSynced || error instanceof NotWatched || error instanceof NotPermitted;
}

/** Returns a function that yields to the event loop once the slice is used up. */
function createSlice(): () => Promise<void> {
  let until = performance.now() + SLICE_MS;
  return async () => {
    if (performance.now() < until) return;
    await nextTurn();
    until = performance.now() + SLICE_MS;
  };
}
