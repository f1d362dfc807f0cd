// Which of several objects a quota's number allows: routes, tasks, domains, service instances, keys. Pure; the API and the controllers share it.
import type { Condition } from "../../kube/api/object.ts";

export type QuotaPlace = "space" | "organization";

/** Reason of the Ready condition of what waits for its place in a quota's number. */
export const QUOTA_EXCEEDED = "QuotaExceeded";

/** The same, of a route that waits for its place among those with a port. */
export const PORT_QUOTA_EXCEEDED = "PortQuotaExceeded";

/** The same, of a task for which a quota has not the memory or the log rate. */
export const RESOURCE_QUOTA_EXCEEDED = "ResourceQuotaExceeded";

/** The same, where a quota allows no paid service plans. */
export const PAID_PLAN_FORBIDDEN = "PaidPlanNotAllowed";

const WAITING = [QUOTA_EXCEEDED, PORT_QUOTA_EXCEEDED, RESOURCE_QUOTA_EXCEEDED, PAID_PLAN_FORBIDDEN];

interface WithConditions {
  status?: { conditions?: readonly Pick<Condition, "type" | "reason">[] | undefined } | undefined;
}

function readyReason(object: object): string | undefined {
  return (object as WithConditions).status?.conditions?.find(({ type }) => type === "Ready")?.reason;
}

/** The reason for which a quota keeps it out of force; undefined where none does. */
export function waitingReason(object: object): string | undefined {
  const reason = readyReason(object);
  return reason !== undefined && WAITING.includes(reason) ? reason : undefined;
}

/** Does a quota keep it out of force? It does not count against any. */
export function waitsForQuota(object: object): boolean {
  return waitingReason(object) !== undefined;
}

/** Is it new, or does it wait for this reason? What waits for another one may never come, and takes nobody's place. */
export function wantsRoom(object: object, reason: string): boolean {
  return [undefined, reason].includes(readyReason(object));
}

/** Has a quota no room for one more? */
export function isFull(limit: number | undefined, used: number): boolean {
  return limit !== undefined && used >= limit;
}

/** Do the quotas of an org and of its space forbid paid service plans? */
export function forbidsPaid(...quotas: readonly ({ paidServices?: boolean | undefined } | undefined)[]): boolean {
  return quotas.some((quota) => quota?.paidServices === false);
}

/** An object that counts, or wants to. */
export interface Counted {
  uid: string;
  /** The namespace of its space. */
  namespace: string;
  /** Earlier ones come first. */
  order: string;
  /** An object in force stays in force, also when the limit becomes smaller. */
  isInForce: boolean;
}

export interface CountLimits {
  organization: number | undefined;
  /** By the namespace of the space. */
  spaces: ReadonlyMap<string, number>;
}

/** The places that have no room for this one, after those that are in force and those that wait for longer; the space first, as in CF. */
export function findFullPlaces(own: Counted, others: readonly Counted[], limits: CountLimits): QuotaPlace[] {
  const used = { organization: 0, spaces: new Map<string, number>() };
  const add = ({ namespace }: Counted): void => {
    used.organization += 1;
    used.spaces.set(namespace, (used.spaces.get(namespace) ?? 0) + 1);
  };
  const fullFor = ({ namespace }: Counted): QuotaPlace[] => [
    ...(isFull(limits.spaces.get(namespace), used.spaces.get(namespace) ?? 0) ? (["space"] as const) : []),
    ...(isFull(limits.organization, used.organization) ? (["organization"] as const) : []),
  ];
  for (const one of others) if (one.isInForce) add(one);
  const earlier = others.filter((one) => !one.isInForce && one.order < own.order);
  for (const one of earlier.toSorted((a, b) => (a.order < b.order ? -1 : 1))) if (fullFor(one).length === 0) add(one);
  return fullFor(own);
}
