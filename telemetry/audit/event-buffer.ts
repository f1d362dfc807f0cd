// Events that wait to be written, by namespace. Bounded: the oldest of the busiest namespace gives way.

export interface EventBuffer<Event> {
  add(namespace: string, event: Event): void;
  /** Namespaces with events. */
  namespaces(): string[];
  /** Number of events of a namespace. */
  count(namespace: string): number;
  /** The oldest events of a namespace. */
  peek(namespace: string, max: number): Event[];
  /** Removes these events. */
  remove(namespace: string, events: readonly Event[]): void;
  /** Number of events that gave way since the last call. */
  takeDropped(): number;
}

export function createEventBuffer<Event>(max: number): EventBuffer<Event> {
  const waiting = new Map<string, Event[]>();
  let count = 0;
  let dropped = 0;

  function keep(namespace: string, events: Event[]): void {
    count -= (waiting.get(namespace)?.length ?? 0) - events.length;
    if (events.length > 0) waiting.set(namespace, events);
    else waiting.delete(namespace);
  }

  function dropOldest(): void {
    const [namespace, events] = [...waiting].reduce((one, other) => (other[1].length > one[1].length ? other : one));
    keep(namespace, events.slice(1));
    dropped++;
  }

  return {
    add(namespace, event) {
      const events = waiting.get(namespace);
      if (events) events.push(event);
      else waiting.set(namespace, [event]);
      if (++count > max) dropOldest();
    },
    namespaces: () => [...waiting.keys()],
    count: (namespace) => waiting.get(namespace)?.length ?? 0,
    peek: (namespace, limit) => (waiting.get(namespace) ?? []).slice(0, limit),
    remove(namespace, events) {
      const gone = new Set(events);
      keep(
        namespace,
        (waiting.get(namespace) ?? []).filter((event) => !gone.has(event)),
      );
    },
    takeDropped() {
      const lost = dropped;
      dropped = 0;
      return lost;
    },
  };
}
