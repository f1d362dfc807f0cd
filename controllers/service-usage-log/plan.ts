// Service instances by their usage log, and the events that bring it up to date. Pure but for its memory; one leader has one.
import {
  listOpenServiceUsage,
  planServiceUsage,
  serviceUsageKey,
  type ServiceUsage,
} from "../../crds/service-usage-log/rules.ts";
import type { ServiceUsageEvent } from "../../crds/service-usage-log/service-usage-log.ts";

export interface ServiceUsageLedger {
  /** Forgets everything and starts from these events, in any order. */
  load(events: readonly ServiceUsageEvent[]): void;
  /** The event that follows from what exists now. */
  observe(now: ServiceUsage): ServiceUsageEvent | undefined;
  /** The event that follows when the instance of that GUID is gone. */
  end(guid: string): ServiceUsageEvent | undefined;
  /** GUIDs of everything that the log says exists. */
  openKeys(): string[];
}

export function createServiceUsageLedger(now: () => Date): ServiceUsageLedger {
  let open = new Map<string, ServiceUsageEvent>();
  let sequence = 0;

  function place(key: string, usage: ServiceUsage | undefined): ServiceUsageEvent | undefined {
    const known = open.get(key);
    const event = planServiceUsage(known, usage && withKnownCatalog(usage, known), {
      sequence: sequence + 1,
      now: now(),
    });
    if (!event) return undefined;
    sequence = event.sequence;
    if (usage) open.set(key, event);
    else open.delete(key);
    return event;
  }

  return {
    load(events) {
      open = listOpenServiceUsage(events);
      sequence = events.reduce((last, event) => Math.max(last, event.sequence), 0);
    },
    observe: (usage) => place(serviceUsageKey(usage), usage),
    end: (guid) => (open.has(guid) ? place(guid, undefined) : undefined),
    openKeys: () => [...open.keys()],
  };
}

/** A plan that has left the catalog is no change of the instance. */
function withKnownCatalog(usage: ServiceUsage, known: ServiceUsage | undefined): ServiceUsage {
  const { plan = known?.plan, offering = known?.offering, broker = known?.broker } = usage;
  return { ...usage, ...(plan && { plan }), ...(offering && { offering }), ...(broker && { broker }) };
}
