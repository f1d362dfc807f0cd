// How often a kind has changed, in all and by namespace, so that a list can tell cheaply whether anything it rests on is different.

export interface ChangeCounter {
  /** One object has changed. */
  count(namespace: string | undefined): void;
  /** Anything may have changed. */
  countAll(): void;
  /** Grows with every change, or with those in these namespaces. */
  version(namespaces?: readonly string[]): number;
}

/** With `byNamespace` changes are told apart by namespace; without, every change counts in all of them. */
export function createChangeCounter(byNamespace: boolean): ChangeCounter {
  const counts = new Map<string, number>();
  let total = 0;
  let everywhere = 0;
  return {
    count(namespace = "") {
      total++;
      if (byNamespace) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    },
    countAll() {
      total++;
      everywhere++;
    },
    version: (namespaces) =>
      byNamespace && namespaces
        ? namespaces.reduce((sum, namespace) => sum + (counts.get(namespace) ?? 0), everywhere)
        : total,
  };
}
