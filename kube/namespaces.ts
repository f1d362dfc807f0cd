// Which namespaces a kind is watched in when it may not be watched everywhere: those that carry a label, a fixed few, and those asked for.
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
  onChange(listener: () => void): () => void;
  /** Did the namespace go with all that was in it? */
  isGone(namespace: string): boolean;
}

/** `open` starts the watch of the labelled namespaces; called when first asked. */
export function createNamespaces(rule: SplitRule | undefined, open: (labelSelector: string) => Store): Namespaces {
  const listeners = new Set<() => void>();
  const gone = new Set<string>();
  let opened: Store | undefined;

  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const hear = (change: Change<KubeObject>): void => {
    const { name, deletionTimestamp } = change.object.metadata;
    // Without a deletion under way it has only lost the label.
    if (change.type === "deleted" && deletionTimestamp) gone.add(name);
    else gone.delete(name);
    if (change.type !== "modified") tell();
  };
  const store = (): Store | undefined => {
    if (!rule || opened) return opened;
    opened = open(rule.labelSelector);
    opened.onChange(hear);
    opened.onState(tell);
    return opened;
  };
  return {
    get known() {
      const seen = store();
      return !seen || seen.synced || seen.state === "parked";
    },
    get complete() {
      return store()?.synced ?? false;
    },
    of(ref) {
      const seen = store();
      return rule ? choose(rule, ref, seen?.synced ? seen.list() : []) : [];
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    isGone: (namespace) => gone.has(namespace),
  };
}

function choose({ always = [], holds = () => true }: SplitRule, ref: ResourceRef, labelled: readonly KubeObject[]): string[] {
  const ours = labelled.filter(({ metadata }) => holds(ref, metadata.labels, metadata.name)).map(({ metadata }) => metadata.name);
  return [...new Set([...always.filter((name) => holds(ref, undefined, name)), ...ours])].sort();
}
