// A run of chaos between clusters: what people do with their apps and clusters, and what goes wrong meanwhile, all from one number. Pure.
import { randomFrom } from "../../random.ts";

export const SPOKES = ["east", "west"] as const;
export type SpokeName = (typeof SPOKES)[number];
export const BUSY = ["a", "b", "c"] as const;
/** Nobody touches these. */
export const QUIET = ["q", "r"] as const;

export type ClusterEvent = { atMs: number } & (
  | { what: "scale"; app: string; instances: number }
  | { what: "restart" | "stop" | "start" | "delete" | "route" | "unroute"; app: string }
  | { what: "kill-leader" | "kill-follower" | "wipe-decisions" | "leave-orphan" }
  | { what: "black-hole" | "api-down" | "revoke"; spoke: SpokeName; lastMs: number }
  | { what: "cordon" | "drain"; spoke: SpokeName; lastMs: number }
  | { what: "delete-lrp" | "scale-lrp" | "unlabel-lrp"; spoke: SpokeName; app: string; lastMs: number }
  | { what: "place"; on: readonly string[] }
);

export interface ClusterSchedule {
  seed: number;
  /** Instances of each app at the start. */
  apps: Readonly<Record<string, number>>;
  events: readonly ClusterEvent[];
  lengthMs: number;
}

const LENGTH_MS = 4_000;

export function planClusterSchedule(seed: number): ClusterSchedule {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const at = (): number => Math.round(random() * LENGTH_MS * 0.8);
  const last = (): number => Math.round((0.1 + random() * 0.5) * LENGTH_MS);
  const times = (most: number, make: () => ClusterEvent): ClusterEvent[] =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, make);
  const apps = Object.fromEntries([...BUSY, ...QUIET].map((app) => [app, 1 + Math.floor(random() * 5)]));
  const events = [
    ...times(3, () => ({ atMs: at(), what: "scale", app: pick(BUSY), instances: Math.floor(random() * 7) })),
    ...times(5, () => ({
      atMs: at(),
      what: pick(["restart", "restart", "stop", "start", "delete", "route", "unroute"] as const),
      app: pick(BUSY),
    })),
    ...times(1, () => ({ atMs: at(), what: "kill-leader" })),
    ...times(1, () => ({ atMs: at(), what: "kill-follower" })),
    ...times(2, () => ({
      atMs: at(),
      what: pick(["black-hole", "api-down", "revoke"] as const),
      spoke: pick(SPOKES),
      lastMs: last(),
    })),
    ...times(1, () => ({ atMs: at(), what: pick(["cordon", "drain"] as const), spoke: pick(SPOKES), lastMs: last() })),
    ...times(2, () => ({
      atMs: at(),
      what: pick(["delete-lrp", "scale-lrp", "unlabel-lrp"] as const),
      spoke: pick(SPOKES),
      app: pick(BUSY),
      lastMs: last(),
    })),
    ...times(1, () => ({ atMs: at(), what: pick(["wipe-decisions", "leave-orphan"] as const) })),
    ...times(1, () => ({ atMs: at(), what: "place", on: pick([[], ["east"], ["west"], ["local"]]) })),
  ] as ClusterEvent[];
  return { seed, apps, events: events.toSorted((a, b) => a.atMs - b.atMs), lengthMs: LENGTH_MS };
}

/** Clusters of which a quiet app may lose its LRP by this schedule: those that are drained, and all where decisions are lost while a cluster cannot be asked. */
export function mayLose({ events }: ClusterSchedule, cluster: string): boolean {
  const has = (...whats: readonly string[]): boolean => events.some(({ what }) => whats.includes(what));
  if (events.some((event) => event.what === "drain" && event.spoke === cluster)) return true;
  return has("wipe-decisions") && has("black-hole", "api-down", "revoke", "kill-leader");
}
