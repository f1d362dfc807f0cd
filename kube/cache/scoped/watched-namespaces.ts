// Which namespaces a kind is watched in when it may not be watched everywhere: those that carry a label, a fixed few, and those asked for.
import type { Farewell } from "../store-contents.ts";
import { LabelledNamespaces, type LabelledOptions } from "./labelled-namespaces.ts";
import type { Store } from "../reader.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";

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
  /** Of a namespace that is not one of those: what is known of it. */
  farewell(namespace: string): Farewell;
}

export interface NamespaceViews extends Omit<LabelledOptions, "changed"> {
  /** Starts the watch of the labelled namespaces; called when first asked. */
  open: (labelSelector: string) => Store;
}

/** Those with the label stay as they were last seen while they cannot be seen. */
export function createNamespaces(rule: SplitRule | undefined, { open, look, signal }: NamespaceViews): Namespaces {
  const listeners = new Set<(namespace?: string) => void>();
  let opened: Store | undefined;

  const tell = (namespace?: string): void => [...listeners].forEach((listener) => listener(namespace));
  const labelled = new LabelledNamespaces({ look, signal, changed: tell });
  const begin = (labelSelector: string): Store => {
    opened = open(labelSelector);
    follow(opened, labelled, tell);
    return opened;
  };
  const store = (): Store | undefined => opened ?? (rule && begin(rule.labelSelector));
  const ours = (): LabelledNamespaces => {
    store();
    return labelled;
  };
  return {
    get known() {
      const seen = store();
      return !seen || seen.synced || seen.state === "parked";
    },
    get complete() {
      return store()?.synced ?? false;
    },
    of: (ref) => (rule ? choose(rule, ref, ours().all()) : []),
    holds: (ref, namespace) => rule !== undefined && isChosen(rule, ref, namespace, ours().find(namespace)),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    farewell(namespace) {
      if (labelled.isGone(namespace)) return "gone";
      return store()?.synced === false ? "unseen" : "foreign";
    },
  };
}

function follow(store: Store, labelled: LabelledNamespaces, tell: () => void): void {
  // Of one that was seen before we asked, and is as it was, nobody tells when it is seen again.
  const see = (): void => {
    if (store.synced) for (const object of store.list()) labelled.keep(object);
  };
  store.onChange((change) => labelled.hear(change));
  see();
  store.onState(() => {
    see();
    tell();
  });
}

function choose(rule: SplitRule, ref: ResourceRef, labelled: readonly KubeObject[]): string[] {
  const ours = labelled.filter((found) => isChosen(rule, ref, found.metadata.name, found)).map(({ metadata }) => metadata.name);
  return [...new Set([...(rule.always ?? []).filter((name) => isChosen(rule, ref, name, undefined)), ...ours])].sort();
}

/** `labelled` is the namespace as an object, when it has our label. */
function isChosen({ always = [], holds = () => true }: SplitRule, ref: ResourceRef, name: string, labelled: KubeObject | undefined): boolean {
  return (always.includes(name) && holds(ref, undefined, name)) || (labelled !== undefined && holds(ref, labelled.metadata.labels, name));
}
