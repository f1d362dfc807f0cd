// Which usage events follow from the service instances that exist now and what was recorded last. Pure.
import { deriveGUID } from "../guid.ts";
import { lastEvents } from "../usage-log/rules.ts";
import type { ServiceUsageEvent } from "./service-usage-log.ts";

/** An instance as its events show it. */
export type ServiceUsage = Omit<ServiceUsageEvent, "guid" | "sequence" | "at" | "state">;

/** A place in the log. */
interface Place {
  sequence: number;
  now: Date;
}

export function serviceUsageKey({ instance }: Pick<ServiceUsage, "instance">): string {
  return instance.guid;
}

/** The last event of every instance that exists, by its GUID. Events in any order. */
export function listOpenServiceUsage(events: readonly ServiceUsageEvent[]): Map<string, ServiceUsageEvent> {
  return new Map([...lastEvents(events, serviceUsageKey)].filter(([, { state }]) => state !== "DELETED"));
}

/**
 * The event that follows, if any. `now` is undefined when the instance is gone. Two leaders that see the same change after the same event give it
 * the same GUID, and readers show it once.
 */
export function planServiceUsage(
  open: ServiceUsageEvent | undefined,
  now: ServiceUsage | undefined,
  { sequence, now: at }: Place,
): ServiceUsageEvent | undefined {
  const state = nextState(open, now);
  const usage = now ?? open;
  if (!state || !usage) return undefined;
  const what = [usage.instance.guid, state, usage.instance.name, usage.plan?.guid ?? ""];
  const guid = deriveGUID("service-usage", open?.guid ?? "", ...what);
  return { ...usage, guid, sequence, at: at.toISOString(), state };
}

function nextState(
  open: ServiceUsageEvent | undefined,
  now: ServiceUsage | undefined,
): ServiceUsageEvent["state"] | undefined {
  if (!now) return open && "DELETED";
  if (!open) return "CREATED";
  const isSame = open.instance.name === now.instance.name && open.plan?.guid === now.plan?.guid;
  return isSame ? undefined : "UPDATED";
}

/** The events with which a purged log begins: one for each instance, with its GUID, as in CF. */
export function seedServiceUsage(existing: readonly ServiceUsage[], sequence: number, now: Date): ServiceUsageEvent[] {
  return existing.map((usage, at) => ({
    ...usage,
    guid: usage.instance.guid,
    sequence: sequence + at,
    at: now.toISOString(),
    state: "CREATED",
  }));
}
