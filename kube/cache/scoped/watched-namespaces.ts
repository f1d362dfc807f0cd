// Which namespaces a kind is watched in when it may not be watched everywhere: those that carry a label, a fixed few, and those asked for.
import type { NamespaceRemoval } from "../store-contents.ts";
import { LabelledNamespaces, type LabelledNamespacesOptions } from "./labelled-namespaces.ts";
import type { Store } from "../reader.ts";
import type { KubeObject } from "../../api/object.ts";
import type { ResourceRef } from "../../api/resource-ref.ts";

export interface NamespaceScope {
  /** The namespaces that are ours. They must be allowed to be watched for it. */
  labelSelector: string;
  /** Watched without being asked about. */
  always?: readonly string[];
  /** Whether a namespace with these labels (none: one of `always`) can hold objects of the kind; every one can unless said. */
  canHold?: (ref: ResourceRef, labels: Readonly<Record<string, string>> | undefined, namespace: string) => boolean;
}

export interface WatchedNamespaces {
  /** False as long as the labelled ones have not been seen and may yet be. */
  readonly isKnown: boolean;
  /** What `of` says is all there is. */
  readonly isComplete: boolean;
  /** In order. */
  listFor(ref: ResourceRef): string[];
  /** Is the namespace one of those? */
  has(ref: ResourceRef, namespace: string): boolean;
  /** Told of one namespace that came or went, or without one that all may be others. */
  onChange(listener: (namespace?: string) => void): () => void;
  /** Of a namespace that is not one of those: what is known of it. */
  removalOf(namespace: string): NamespaceRemoval;
}

export interface WatchedNamespacesOptions extends Omit<LabelledNamespacesOptions, "onChange"> {
  /** Starts the watch of the labelled namespaces; called when first asked. */
  watchLabelled: (labelSelector: string) => Store;
}

/** Those with the label stay as they were last seen while they cannot be seen. */
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
  // Of one that was seen before we asked, and is as it was, nobody tells when it is seen again.
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

/** `labelled` is the namespace as an object, when it has our label. */
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
