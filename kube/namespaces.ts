// Which namespaces a kind is watched in when it may not be watched everywhere: those that carry a label, a fixed few, and those asked for.
import { LRUCache } from "lru-cache";
import type { Change, Store } from "./reader.ts";
import type { KubeObject } from "./object.ts";
import type { ResourceRef } from "./resource-ref.ts";

export interface SplitRule {
  /** The namespaces that are ours. They must be allowed to be watched for it. */
  labelSelector: string;
  /** Watched without being asked about. */
  always?: readonly string[];
  /** Whether a namespace with these labels (none: one of `always`) can hold objects of the kind; every one can unless said. */
  holds?: (ref: ResourceRef, labels: Readonly<Record<string, string>> | undefined, namespace: string) => boolean;
}

export interface Namespaces {
  /** False as long as the labelled ones have not been seen and may yet be. */
  readonly known: boolean;
  /** What `of` says is all there is. */
  readonly complete: boolean;
  /** In order. */
  of(ref: ResourceRef): string[];
  /** Is the namespace one of those? */
  holds(ref: ResourceRef, namespace: string): boolean;
  /** Told of one namespace that came or went, or without one that all may be others. */
  onChange(listener: (namespace?: string) => void): () => void;
  /** Did the namespace go with all that was in it? Of the last GONE that did. */
  isGone(namespace: string): boolean;
}

/** Whoever asks does so at once, or when it lets go of a namespace that it had asked for by name. */
export const GONE = 1000;

/** `open` starts the watch of the labelled namespaces; called when first asked. */
export function createNamespaces(rule: SplitRule | undefined, open: (labelSelector: string) => Store): Namespaces {
  const listeners = new Set<(namespace?: string) => void>();
  const gone = new LRUCache<string, true>({ max: GONE });
  let opened: Store | undefined;

  const tell = (namespace?: string): void => [...listeners].forEach((listener) => listener(namespace));
  const hear = (change: Change<KubeObject>): void => {
    const { name, deletionTimestamp } = change.object.metadata;
    // Without a deletion under way it has only lost the label.
    if (change.type === "deleted" && deletionTimestamp) gone.set(name, true);
    else gone.delete(name);
    if (change.type !== "modified") tell(name);
  };
  const begin = (labelSelector: string): Store => {
    opened = open(labelSelector);
    opened.onChange(hear);
    opened.onState(() => tell());
    return opened;
  };
  const store = (): Store | undefined => opened ?? (rule && begin(rule.labelSelector));
  const labelled = (): Store | undefined => (store()?.synced ? opened : undefined);
  return {
    get known() {
      const seen = store();
      return !seen || seen.synced || seen.state === "parked";
    },
    get complete() {
      return store()?.synced ?? false;
    },
    of: (ref) => (rule ? choose(rule, ref, labelled()?.list() ?? []) : []),
    holds: (ref, namespace) => rule !== undefined && isChosen(rule, ref, namespace, labelled()?.find({ name: namespace })),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    isGone: (namespace) => gone.has(namespace),
  };
}

function choose(rule: SplitRule, ref: ResourceRef, labelled: readonly KubeObject[]): string[] {
  const ours = labelled.filter((found) => isChosen(rule, ref, found.metadata.name, found)).map(({ metadata }) => metadata.name);
  return [...new Set([...(rule.always ?? []).filter((name) => isChosen(rule, ref, name, undefined)), ...ours])].sort();
}

/** `labelled` is the namespace as an object, when it has our label. */
function isChosen({ always = [], holds = () => true }: SplitRule, ref: ResourceRef, name: string, labelled: KubeObject | undefined): boolean {
  return (always.includes(name) && holds(ref, undefined, name)) || (labelled !== undefined && holds(ref, labelled.metadata.labels, name));
}
