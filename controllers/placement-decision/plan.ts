// On which clusters a process runs, and which of its instances where. What it holds it keeps: scaling moves no instance. Pure.
import type { Placement } from "../../crds/isolation-segment/isolation-segment.ts";
import { listIndexes, toRanges } from "../../crds/lrp/index-pool.ts";
import type { Assignment, Rejection } from "../../crds/placement-decision/placement-decision.ts";

/** Facts about a cluster. */
export interface ClusterFacts {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Keys. */
  taints: readonly string[];
  cordoned: boolean;
  reachable: boolean;
  /** Weighs in the choice among clusters that are as good. */
  weight: number;
  /** Runner classes by name, with the pools of indexes that each takes: `any`, `range`, or undefined for one that is never split. */
  runners: ReadonlyMap<string, string | undefined>;
}

export interface PlacementRequest {
  /** GUID of the process. */
  guid: string;
  /** Indexes that need a cluster: 0 to one less. */
  instances: number;
  /** The runner class. */
  runner: string;
  placement: Placement;
  /** Assignments of the last decision. */
  previous: readonly Assignment[];
}

/** Why a cluster was or was not chosen. */
interface Verdict {
  cluster: ClusterFacts;
  held: boolean;
  /** Undefined for a cluster that may get instances. */
  reason: RejectionReason | undefined;
}

type RejectionReason =
  | "NoLongerMatches"
  | "NotSelected"
  | "Cordoned"
  | "Tainted"
  | "Unreachable"
  | "RunnerMissing"
  | "CannotSplit"
  | "NotNeeded";

export interface PlacementPlan {
  assignments: Assignment[];
  rejected: Rejection[];
}

/**
 * Clusters that hold the process stay, whatever has become of them. Others must match the placement, take new processes and have the runner; those with
 * the highest rank are taken until there are as many as the placement wants.
 */
export function place(request: PlacementRequest, clusters: readonly ClusterFacts[]): PlacementPlan {
  const { placement, previous } = request;
  const held = new Set(previous.map(({ cluster }) => cluster));
  const verdicts = clusters.map((cluster) => judge(cluster, held.has(cluster.name), request));
  const candidates = verdicts
    .filter(({ held: isHeld, reason }) => !isHeld && reason === undefined)
    .map(({ cluster }) => ({ cluster, rank: rank(cluster, request) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ cluster }) => cluster);
  const chosen = choose(candidates, verdicts, placement);
  const rejected = verdicts.map((verdict) =>
    !verdict.held && verdict.reason === undefined && !chosen.includes(verdict.cluster)
      ? { ...verdict, reason: "NotNeeded" as const }
      : verdict,
  );
  return { assignments: split(request, verdicts, chosen), rejected: toRejections(rejected) };
}

function judge(cluster: ClusterFacts, held: boolean, request: PlacementRequest): Verdict {
  const reason = findRejection(cluster, request);
  if (!held) return { cluster, held, reason };
  if (!cluster.reachable) return { cluster, held, reason: "Unreachable" };
  // It grows where it is; only a cluster that the segment does not want any more, or that is silent, gets no new instance.
  const isAway = reason === "NotSelected" || reason === "RunnerMissing";
  return { cluster, held, reason: isAway ? "NoLongerMatches" : undefined };
}

function findRejection(
  { labels, cordoned, taints, reachable, runners }: ClusterFacts,
  { placement, runner }: PlacementRequest,
): RejectionReason | undefined {
  const tolerated = new Set(placement.tolerations.map(({ key }) => key));
  if (Object.entries(placement.clusters.matchLabels).some(([key, value]) => labels[key] !== value))
    return "NotSelected";
  if (cordoned) return "Cordoned";
  if (taints.some((key) => !tolerated.has(key))) return "Tainted";
  if (!reachable) return "Unreachable";
  if (!runners.has(runner)) return "RunnerMissing";
  // Pools alternate, so a class must take any.
  return placement.count === 1 || runners.get(runner) === "any" ? undefined : "CannotSplit";
}

/**
 * Weighted rendezvous hashing, the same for all replicas and all times: a new cluster gets its share of new processes, and no process that has no instance
 * goes elsewhere because of it.
 */
function rank({ name, weight }: ClusterFacts, { guid }: PlacementRequest): number {
  return weight / -Math.log((mix(`${guid} ${name}`) + 0.5) / 2 ** 32);
}

/** FNV-1a with a final mix, 32 bits: 100 clusters for each of 10,000 processes. */
function mix(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** Takes a cluster for each value of `spreadBy` while values last. */
function choose(
  candidates: readonly ClusterFacts[],
  verdicts: readonly Verdict[],
  placement: Placement,
): ClusterFacts[] {
  const holders = verdicts.filter(({ held }) => held).map(({ cluster }) => cluster);
  const wanted = (placement.count ?? Infinity) - holders.length;
  const left = [...candidates];
  const chosen: ClusterFacts[] = [];
  while (chosen.length < wanted && left.length > 0) {
    const counts = Map.groupBy([...holders, ...chosen], (one) => valueOf(one, placement));
    const fewest = Math.min(...left.map((one) => counts.get(valueOf(one, placement))?.length ?? 0));
    const at = left.findIndex((one) => (counts.get(valueOf(one, placement))?.length ?? 0) === fewest);
    chosen.push(...left.splice(Math.max(at, 0), 1));
  }
  return chosen;
}

function valueOf({ name, labels }: ClusterFacts, { spreadBy }: Placement): string {
  return spreadBy === undefined ? name : (labels[spreadBy] ?? "");
}

/** Indexes that nobody holds go, the lowest first, to the cluster that has the fewest. */
function split(
  { instances, previous }: PlacementRequest,
  verdicts: readonly Verdict[],
  chosen: readonly ClusterFacts[],
): Assignment[] {
  const pools = new Map(
    previous.map(({ cluster, indexes }) => [cluster, listIndexes(indexes).filter((index) => index < instances)]),
  );
  for (const { name } of chosen) pools.set(name, []);
  const taken = new Set([...pools.values()].flat());
  const refused = new Set(verdicts.filter(({ reason }) => reason !== undefined).map(({ cluster }) => cluster.name));
  const known = new Set(verdicts.map(({ cluster }) => cluster.name));
  const open = [...pools].filter(([name]) => known.has(name) && !refused.has(name));
  // Where none may grow, the process stays complete on those that it has.
  const growing = (open.length > 0 ? open : [...pools]).map(([, indexes]) => indexes);
  for (let index = 0; index < instances && growing.length > 0; index++) {
    if (taken.has(index)) continue;
    growing.reduce((fewest, one) => (one.length < fewest.length ? one : fewest)).push(index);
  }
  const reasons = new Map(previous.map(({ cluster, reason }) => [cluster, reason]));
  return [...pools].map(([cluster, indexes]) => ({
    cluster,
    indexes: toRanges(indexes),
    state: "Active" as const,
    reason: reasons.get(cluster) ?? "Chosen",
  }));
}

function toRejections(verdicts: readonly Verdict[]): Rejection[] {
  const groups = Map.groupBy(
    verdicts.filter(({ reason }) => reason !== undefined),
    ({ reason = "" }) => reason,
  );
  return [...groups].map(([reason, group]) => ({
    reason,
    clusters: group.length,
    example: group[0]?.cluster.name ?? "",
  }));
}
