// Which drains are used where there are too many: an app has some, and all together share what one process can keep connected. Pure.
import type { WantedDrain } from "../../telemetry/drains/app-drains.ts";

/** A drain that is wanted, with what decides between it and others. */
export interface CountedDrain extends WantedDrain {
  /** When its binding was made, as Kubernetes writes it. */
  since: string;
  /** UID of the bound instance. */
  instance: string;
}

export const MAX_DRAINS = 1_000;
export const MAX_DRAINS_OF_APP = 10;

export interface ChosenDrains<Drain> {
  used: Drain[];
  /** Wanted, and over a limit. */
  left: { drain: Drain; limit: "app" | "platform" }[];
}

/**
 * An app gets one drain to an address, whatever the number of its bindings, and the older ones go first. Of several bindings to one instance the newest
 * is used, in the place of the oldest: its certificates last longer. Where all together are too many, each org gets as many as any other that wants them,
 * so that nobody's drains end because of somebody else's.
 */
export function chooseDrains<Drain extends CountedDrain>(
  wanted: readonly Drain[],
  most = MAX_DRAINS,
): ChosenDrains<Drain> {
  const oldestFirst = wanted.toSorted((one, other) => compare(one.since, other.since) || compare(one.key, other.key));
  const newest = new Map(oldestFirst.map((drain) => [bindingsOf(drain), drain]));
  const distinct = firstOfEach(oldestFirst, placeOf).map((drain) => newest.get(bindingsOf(drain)) ?? drain);
  const [ofApps, overApp] = split(
    distinct,
    rankWithin(distinct, ({ app }) => app.guid),
    MAX_DRAINS_OF_APP,
  );
  const ranks = rankWithin(ofApps, ({ app }) => app.org);
  // The first of every org, then the second of every org, and so on.
  const byTurn = ofApps.toSorted((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
  return {
    used: byTurn.slice(0, most),
    left: [
      ...overApp.map((drain) => ({ drain, limit: "app" as const })),
      ...byTurn.slice(most).map((drain) => ({ drain, limit: "platform" as const })),
    ],
  };
}

const placeOf = ({ app, address }: CountedDrain): string => `${app.guid} ${address.url}`;
/** The same for all bindings of one app to one instance that give the same address. */
const bindingsOf = (drain: CountedDrain): string => `${drain.instance} ${placeOf(drain)}`;

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function firstOfEach<Drain>(drains: readonly Drain[], keyOf: (drain: Drain) => string): Drain[] {
  const seen = new Set<string>();
  return drains.filter((drain) => seen.size !== seen.add(keyOf(drain)).size);
}

/** How many of the same group come before each. */
function rankWithin<Drain>(drains: readonly Drain[], groupOf: (drain: Drain) => string): Map<Drain, number> {
  const counts = new Map<string, number>();
  return new Map(
    drains.map((drain) => {
      const rank = counts.get(groupOf(drain)) ?? 0;
      counts.set(groupOf(drain), rank + 1);
      return [drain, rank];
    }),
  );
}

function split<Drain>(drains: readonly Drain[], ranks: ReadonlyMap<Drain, number>, most: number): [Drain[], Drain[]] {
  const isWithin = (drain: Drain): boolean => (ranks.get(drain) ?? 0) < most;
  return [drains.filter(isWithin), drains.filter((drain) => !isWithin(drain))];
}
