// How many brokers a space may have: each is a server that the platform asks, and a catalog of a thousand objects. Pure.
import { ageSortKey } from "../guid.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import type { ServiceBroker } from "./service-broker.ts";

export const MAX_SPACE_BROKERS = 20;
export const TOO_MANY_BROKERS = `A space has at most ${MAX_SPACE_BROKERS} service brokers; delete one first.`;

/** Is there no place for one more? @param brokers all of the namespace */
export function isFull(namespace: string, brokers: readonly ServiceBroker[]): boolean {
  return namespace !== SYSTEM_NAMESPACE && brokers.length >= MAX_SPACE_BROKERS;
}

/** Has a broker no place, since as many as may be are older? @param brokers all of its namespace */
export function isBeyondLimit(broker: ServiceBroker, brokers: readonly ServiceBroker[]): boolean {
  const age = ageSortKey(broker);
  return isFull(
    broker.metadata.namespace ?? "",
    brokers.filter((other) => ageSortKey(other) < age),
  );
}
