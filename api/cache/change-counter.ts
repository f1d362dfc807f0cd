// Counts the changes of a kind, in total and by namespace, so that a cached list can cheaply check whether its dependencies changed.

export interface ChangeCounter {
  /** An object has changed. */
  count(namespace: string | undefined): void;
  /** Any object may have changed. */
  countAll(): void;
  /** Increases with every change, or with every change in these namespaces. */
  version(namespaces?: readonly string[]): number;
}

/** With `byNamespace` changes are counted by namespace; without it every change counts for every namespace. `onCount` learns of each. */
export function createChangeCounter(byNamespace: boolean, onCount: () => void = () => undefined): ChangeCounter {
  const counts = new Map<string, number>();
  let total = 0;
  let everywhere = 0;
  return {
    count(namespace = "") {
      total++;
      onCount();
      if (byNamespace) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    },
    countAll() {
      total++;
      onCount();
      everywhere++;
    },
    version: (namespaces) =>
      byNamespace && namespaces
        ? namespaces.reduce((sum, namespace) => sum + (counts.get(namespace) ?? 0), everywhere)
        : total,
  };
}
