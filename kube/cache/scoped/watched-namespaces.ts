// The namespaces to watch when a kind may not be watched cluster-wide: labelled ones, a fixed few, and requested ones.
import type { NamespaceRemoval } from "../store-contents.ts";
import { LabelledNamespaces, type LabelledNamespacesOptions } from "./labelled-namespaces.ts";
import type { Store } from "../reader.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";

export interface NamespaceScope {
  /** Selects our namespaces. Listing and watching Namespaces must be permitted. */
  labelSelector: string;
  /** Always watched, whatever their labels. */
  always?: readonly string[];
  /** Whether a namespace can hold objects of the kind; by default every one can. `labels` is undefined for one of `always`. */
  canHold?: (ref: ResourceRef, labels: Readonly<Record<string, string>> | undefined, namespace: string) => boolean;
}

export interface WatchedNamespaces {
  /** False while the labelled namespaces are being listed for the first time. */
  readonly isKnown: boolean;
  /** Whether `listFor` returns every namespace that can hold objects. */
  readonly isComplete: boolean;
  /** Sorted by name. */
  listFor(ref: ResourceRef): string[];
  /** Whether `listFor` contains the namespace. */
  has(ref: ResourceRef, namespace: string): boolean;
  /** Calls `listener` with a namespace that was added or removed, or without one when any may have changed. */
  onChange(listener: (namespace?: string) => void): () => void;
  /** Why a namespace is no longer watched. */
  removalOf(namespace: string): NamespaceRemoval;
}

export interface WatchedNamespacesOptions extends Omit<LabelledNamespacesOptions, "onChange"> {
  /** Starts the watch of labelled namespaces; called on first use. */
  watchLabelled: (labelSelector: string) => Store;
}

/** Labelled namespaces keep their last known state while Namespaces cannot be read. */
export function createWatchedNamespaces(
  rule: NamespaceScope | undefined,
  { watchLabelled, findLive, signal }: WatchedNamespacesOptions,
): WatchedNamespaces {
  const listeners = new Set<(namespace?: string) => void>();
  let opened: Store | undefined;

  const notify = (namespace?: string): void => [...listeners].forEach((listener) => listener(namespace));
  const labelled = new LabelledNamespaces({ findLive, signal, onChange: notify });
  const start = (labelSelector: string): Store => {
    opened = watchLabelled(labelSelector);
    trackLabelled(opened, labelled, notify);
    return opened;
  };
  const store = (): Store | undefined => opened ?? (rule && start(rule.labelSelector));
  const startAndGetLabelled = (): LabelledNamespaces => {
    store();
    return labelled;
  };
  return {
    get isKnown() {
      const seen = store();
      return !seen || seen.synced || seen.state === "parked";
    },
    get isComplete() {
      return store()?.synced ?? false;
    },
    listFor: (ref) => (rule ? selectNamespaces(rule, ref, startAndGetLabelled().list()) : []),
    has: (ref, namespace) =>
      rule !== undefined && isSelected(rule, ref, namespace, startAndGetLabelled().find(namespace)),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    removalOf(namespace) {
      if (labelled.isDeleted(namespace)) return "deleted";
      return store()?.synced === false ? "unknown" : "unselected";
    },
  };
}

function trackLabelled(store: Store, labelled: LabelledNamespaces, notify: () => void): void {
  // Objects unchanged after a resync emit no event, so read the whole store.
  const readAll = (): void => {
    if (store.synced) for (const object of store.list()) labelled.set(object);
  };
  store.onChange((change) => labelled.handleChange(change));
  readAll();
  store.onStateChange(() => {
    readAll();
    notify();
  });
}

function selectNamespaces(rule: NamespaceScope, ref: ResourceRef, labelled: readonly KubeObject[]): string[] {
  const ours = labelled
    .filter((found) => isSelected(rule, ref, found.metadata.name, found))
    .map(({ metadata }) => metadata.name);
  return [
    ...new Set([...(rule.always ?? []).filter((name) => isSelected(rule, ref, name, undefined)), ...ours]),
  ].sort();
}

/** `labelled` is the namespace object when it has our label. */
function isSelected(
  { always = [], canHold = () => true }: NamespaceScope,
  ref: ResourceRef,
  name: string,
  labelled: KubeObject | undefined,
): boolean {
  return (
    (always.includes(name) && canHold(ref, undefined, name)) ||
    (labelled !== undefined && canHold(ref, labelled.metadata.labels, name))
  );
}
