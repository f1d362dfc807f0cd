// On which clusters a process runs, and which of its instances where. What it holds it keeps: scaling moves no instance. Pure.
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import type { Failover, Placement } from "../../crds/isolation-segment/isolation-segment.ts";
import { listIndexes, toRanges } from "../../crds/lrp/index-pool.ts";
import type { Assignment, Rejection } from "../../crds/placement-decision/placement-decision.ts";

/** Facts about a cluster. */
export interface ClusterFacts {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Keys. */
  taints: readonly string[];
  cordoned: boolean;
  /** Its instances move to other clusters. */
  draining: boolean;
  /** Its object is being deleted: nobody waits for its instances. */
  givenUp: boolean;
  reachable: boolean;
  /** Milliseconds; set for a cluster that was known and gives no answer at all. */
  silentSince: number | undefined;
  /** Weighs in the choice among clusters that are as good. */
  weight: number;
  /** Memory that no pod has asked for; undefined where nobody counts it. */
  freeMemoryMB: number | undefined;
  /** Its share of all memory there, in tens of percent. */
  freePercent: number | undefined;
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
  /** Memory of an instance. */
  memoryMB: number;
  /** It mounts volumes, whose consent only the platform's own cluster can say. */
  hasVolumes: boolean;
  placement: Placement;
  failover: Failover;
  /** Milliseconds. */
  now: number;
  /** Assignments of the last decision. */
  previous: readonly Assignment[];
  /** The instances of this start are not there yet, and those of the last one end. */
  isNewStart: boolean;
  /** Clusters that the process keeps even at a new start: too many would leave them at once. */
  kept: ReadonlySet<string>;
  /** Whether the process may begin to leave a cluster that is drained or silent. One that has begun goes on. */
  mayBegin: (cluster: string) => boolean;
  /** Whether the instance with this index on this cluster takes requests. */
  isServing: (cluster: string, index: number) => boolean;
}

/** Why a cluster was or was not chosen. */
interface Verdict {
  cluster: ClusterFacts;
  held: boolean;
  /** Undefined for a cluster that may get instances. */
  reason: RejectionReason | undefined;
  /** Its instances move to other clusters. */
  leaves: boolean;
}

export type RejectionReason =
  | "NoLongerMatches"
  | "NotSelected"
  | "Cordoned"
  | "Draining"
  | "GivenUp"
  | "Tainted"
  | "Unreachable"
  | "FailedOver"
  | "FailoverHeld"
  | "NeverFailsOver"
  | "RunnerMissing"
  | "CannotSplit"
  | "NoMemory"
  | "HasNoVolumes"
  | "NotNeeded";

export interface PlacementPlan {
  assignments: Assignment[];
  rejected: Rejection[];
  /** The clusters that the process begins to leave by this plan, each with its new state. */
  begins: Pick<Assignment, "cluster" | "state">[];
  /** Milliseconds until a cluster has been silent for so long that its instances start on others. */
  failsOverIn?: number;
}

/**
 * Clusters that hold the process stay, whatever has become of them, but those that are drained or given up. Others must match the placement,
 * take new processes and have the runner; those with the highest rank are taken until there are as many as the placement wants.
 */
export function place(given: PlacementRequest, clusters: readonly ClusterFacts[]): PlacementPlan {
  const request = { ...given, previous: listHeld(given, clusters) };
  const verdicts = judgeAll(request, clusters);
  const candidates = verdicts
    .filter(({ held, reason }) => !held && reason === undefined)
    .map(({ cluster }) => ({ cluster, rank: rank(cluster, request) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ cluster }) => cluster);
  const chosen = choose(candidates, verdicts, request.placement);
  const rejected = verdicts.map((verdict) =>
    !verdict.held && verdict.reason === undefined && !chosen.includes(verdict.cluster)
      ? { ...verdict, reason: "NotNeeded" as const }
      : verdict,
  );
  return { ...split(request, verdicts, chosen), rejected: toRejections(rejected), ...nextFailover(request, verdicts) };
}

export interface Explanation {
  cluster: string;
  /** Indexes of the instances that it has, or gets. */
  indexes: number[];
  /** Undefined for a cluster that may get instances. */
  reason: RejectionReason | undefined;
}

/** Why each cluster has instances of the process or has none: the verdicts that `place` goes by. */
export function explain(request: PlacementRequest, clusters: readonly ClusterFacts[]): Explanation[] {
  const pools = new Map(place(request, clusters).assignments.map((one) => [one.cluster, listIndexes(one.indexes)]));
  return judgeAll(request, clusters).map(({ cluster: { name }, reason }) => ({
    cluster: name,
    indexes: pools.get(name) ?? [],
    reason: reason ?? (pools.has(name) ? undefined : "NotNeeded"),
  }));
}

/** Reasons that a running instance outlasts, and a new one does not begin with. */
const LEFT_AT_START: ReadonlySet<RejectionReason> = new Set([
  "NotSelected",
  "RunnerMissing",
  "HasNoVolumes",
  "Draining",
  "GivenUp",
]);

/** A new start leaves clusters that do not take the process any more: its former instances end anyway. Where the segment never fails over, those of a cluster that does not answer may go on. */
function listHeld(request: PlacementRequest, clusters: readonly ClusterFacts[]): readonly Assignment[] {
  const { previous, isNewStart, kept, failover } = request;
  if (!isNewStart) return previous;
  const isLeft = (name: string): boolean => {
    if (kept.has(name)) return false;
    const cluster = clusters.find((one) => one.name === name);
    if (failover.mode === "never" && cluster?.reachable === false && !cluster.givenUp) return false;
    const reason = cluster && findRejection(cluster, request);
    return reason !== undefined && LEFT_AT_START.has(reason);
  };
  return previous.filter(({ cluster }) => !isLeft(cluster));
}

function judgeAll(request: PlacementRequest, clusters: readonly ClusterFacts[]): Verdict[] {
  const held = new Map(request.previous.map((one) => [one.cluster, one]));
  const isBraked = hasManySilent(clusters, request);
  return clusters.map((cluster) => judge(cluster, held.get(cluster.name), { request, isBraked }));
}

function judge(
  cluster: ClusterFacts,
  held: Assignment | undefined,
  { request, isBraked }: { request: PlacementRequest; isBraked: boolean },
): Verdict {
  const reason = findRejection(cluster, request);
  if (!held) return { cluster, held: false, reason, leaves: false };
  if (cluster.givenUp) return { cluster, held: true, reason: "GivenUp", leaves: true };
  const lost = cluster.reachable ? undefined : judgeSilent(cluster, held, { request, isBraked });
  if (lost) return { cluster, held: true, ...lost };
  if (cluster.draining)
    return {
      cluster,
      held: true,
      reason: "Draining",
      leaves: request.mayBegin(cluster.name) || held.state !== "Active",
    };
  return { cluster, held: true, reason: toHeldReason(cluster, reason), leaves: false };
}

/** When so many clusters of a segment are silent at once, the platform is more likely cut off than they are lost. */
const SILENT_SHARE = 1 / 3;
const SILENT_MIN = 2;

function hasManySilent(clusters: readonly ClusterFacts[], request: PlacementRequest): boolean {
  const chosen = clusters.filter((one) => !one.givenUp && isSelected(one, request));
  const silent = chosen.filter(({ reachable }) => !reachable).length;
  return silent >= SILENT_MIN && silent > chosen.length * SILENT_SHARE;
}

function isSelected({ labels }: ClusterFacts, { placement }: PlacementRequest): boolean {
  return Object.entries(placement.clusters.matchLabels).every(([key, value]) => labels[key] === value);
}

/** Undefined where the segment leaves it to an operator. A failover that has begun goes on. */
function judgeSilent(
  { name, draining, silentSince }: ClusterFacts,
  { state }: Assignment,
  { request, isBraked }: { request: PlacementRequest; isBraked: boolean },
): Pick<Verdict, "reason" | "leaves"> | undefined {
  const { failover, mayBegin, now } = request;
  if (failover.mode === "never") return { reason: draining ? "NeverFailsOver" : "Unreachable", leaves: false };
  if (failover.mode === "manual" || draining) return undefined;
  if (state === "Lost") return { reason: "FailedOver", leaves: true };
  if (silentSince === undefined || now - silentSince < failover.afterSeconds * 1000)
    return { reason: "Unreachable", leaves: false };
  return isBraked ? { reason: "FailoverHeld", leaves: false } : { reason: "FailedOver", leaves: mayBegin(name) };
}

function nextFailover(
  { failover, now }: PlacementRequest,
  verdicts: readonly Verdict[],
): Pick<PlacementPlan, "failsOverIn"> {
  if (failover.mode !== "auto") return {};
  const times = verdicts
    .filter(({ held, reason }) => held && reason === "Unreachable")
    .flatMap(({ cluster: { silentSince } }) => silentSince ?? [])
    .map((since) => since + failover.afterSeconds * 1000 - now);
  return times.length > 0 ? { failsOverIn: Math.max(Math.min(...times), 0) } : {};
}

/** It grows where it is; only a cluster that the segment does not want any more, or that is silent, gets no new instance. */
function toHeldReason({ reachable }: ClusterFacts, reason: RejectionReason | undefined): RejectionReason | undefined {
  if (!reachable) return "Unreachable";
  if (reason === "HasNoVolumes") return reason;
  return reason === "NotSelected" || reason === "RunnerMissing" ? "NoLongerMatches" : undefined;
}

function findRejection(cluster: ClusterFacts, request: PlacementRequest): RejectionReason | undefined {
  const { name, runners } = cluster;
  const { placement, runner, hasVolumes } = request;
  if (!isSelected(cluster, request)) return "NotSelected";
  if (hasVolumes && name !== LOCAL_CLUSTER) return "HasNoVolumes";
  const closed = findClosed(cluster, placement);
  if (closed) return closed;
  if (!runners.has(runner)) return "RunnerMissing";
  if (cluster.freeMemoryMB !== undefined && cluster.freeMemoryMB < request.memoryMB) return "NoMemory";
  // Pools alternate, so a class must take any.
  return placement.count === 1 || runners.get(runner) === "any" ? undefined : "CannotSplit";
}

/** Why nothing new comes to a cluster now, whatever it is. */
function findClosed(
  { cordoned, draining, givenUp, taints, reachable }: ClusterFacts,
  { tolerations }: Placement,
): RejectionReason | undefined {
  if (givenUp) return "GivenUp";
  if (draining) return "Draining";
  if (cordoned) return "Cordoned";
  const tolerated = new Set(tolerations.map(({ key }) => key));
  if (taints.some((key) => !tolerated.has(key))) return "Tainted";
  return reachable ? undefined : "Unreachable";
}

/**
 * Weighted rendezvous hashing, by `weight` and the share of free memory, the same for all replicas and all times: a new cluster gets its share of new processes, and no process that has no instance
 * goes elsewhere because of it.
 */
function rank(cluster: ClusterFacts, { guid }: PlacementRequest): number {
  const { name } = cluster;
  return (cluster.weight * freeShare(cluster)) / -Math.log((mix(`${guid} ${name}`) + 0.5) / 2 ** 32);
}

/** A cluster whose free memory nobody counts is as one that is half free. A full one still gets its few, which the filter lets pass. */
function freeShare({ freePercent }: ClusterFacts): number {
  return Math.max(freePercent ?? 50, 5) / 100;
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
  const holders = verdicts.filter(({ held, leaves }) => held && !leaves).map(({ cluster }) => cluster);
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

/** The indexes of each cluster, by its name. */
type Pools = Map<string, number[]>;

/** Indexes that nobody holds go, the lowest first, to the cluster that has the fewest. Those of clusters that the process leaves count as held by nobody. */
function split(
  request: PlacementRequest,
  verdicts: readonly Verdict[],
  chosen: readonly ClusterFacts[],
): Pick<PlacementPlan, "assignments" | "begins"> {
  const { instances, previous } = request;
  const pools: Pools = new Map(
    previous.map(({ cluster, indexes }) => [cluster, listIndexes(indexes).filter((index) => index < instances)]),
  );
  for (const { name } of chosen) pools.set(name, []);
  const reasons = new Map(verdicts.map(({ cluster, reason }) => [cluster.name, reason]));
  const open = [...pools.keys()].filter((name) => reasons.has(name) && reasons.get(name) === undefined);
  // Where none may grow, the process stays complete on those that it has.
  const leaving = findLeaving(verdicts, open.length > 0);
  const staying: Pools = new Map([...pools].filter(([name]) => !leaving.has(name)));
  keepOnce(staying, request);
  const taken = new Set([...staying.values()].flat());
  const growing = [...staying]
    .filter(([name]) => open.length === 0 || open.includes(name))
    .map(([, indexes]) => indexes);
  for (let index = 0; index < instances && growing.length > 0; index++) {
    if (taken.has(index)) continue;
    growing.reduce((fewest, one) => (one.length < fewest.length ? one : fewest)).push(index);
  }
  const moving: Pools = new Map(
    [...leaving].map((name) => [name, (pools.get(name) ?? []).filter((index) => !isReplaced(index, staying, request))]),
  );
  return toAssignments({ staying, moving }, request, verdicts);
}

/** A drained cluster keeps its instances while they have nowhere to go. */
function findLeaving(verdicts: readonly Verdict[], canMove: boolean): Set<string> {
  return new Set(
    verdicts.filter(({ leaves, cluster }) => leaves && (canMove || cluster.givenUp)).map(({ cluster }) => cluster.name),
  );
}

/** Two clusters hold an index where a drain was taken back: the one whose instance takes requests keeps it, else the first. */
function keepOnce(pools: Pools, { isServing }: PlacementRequest): void {
  const keepers = new Map<number, string>();
  for (const [name, indexes] of pools)
    for (const index of indexes) {
      const keeper = keepers.get(index);
      if (keeper === undefined || (!isServing(keeper, index) && isServing(name, index))) keepers.set(index, name);
    }
  for (const [name, indexes] of pools)
    pools.set(
      name,
      indexes.filter((index) => keepers.get(index) === name),
    );
}

function isReplaced(index: number, staying: Pools, { isServing }: PlacementRequest): boolean {
  return [...staying].some(([name, indexes]) => indexes.includes(index) && isServing(name, index));
}

function toAssignments(
  { staying, moving }: { staying: Pools; moving: Pools },
  { previous, kept }: PlacementRequest,
  verdicts: readonly Verdict[],
): Pick<PlacementPlan, "assignments" | "begins"> {
  const before = new Map(previous.map((one) => [one.cluster, one]));
  const silent = new Set(verdicts.filter(({ cluster }) => !cluster.reachable).map(({ cluster }) => cluster.name));
  const givenUp = new Set(verdicts.filter(({ cluster }) => cluster.givenUp).map(({ cluster }) => cluster.name));
  const toAssignment = (cluster: string, indexes: number[], state: Assignment["state"]): Assignment => ({
    cluster,
    indexes: toRanges(indexes),
    state,
    reason: kept.has(cluster) ? "Kept" : (before.get(cluster)?.reason ?? "Chosen"),
  });
  const toState = (name: string): Assignment["state"] => (silent.has(name) ? "Lost" : "Draining");
  const left = [...moving].filter(([name, indexes]) => !givenUp.has(name) && indexes.length > 0);
  return {
    assignments: [
      ...[...staying].map(([name, indexes]) => toAssignment(name, indexes, "Active")),
      ...left.map(([name, indexes]) => toAssignment(name, indexes, toState(name))),
    ],
    begins: [...moving.keys()]
      .filter((name) => !givenUp.has(name) && before.get(name)?.state === "Active")
      .map((name) => ({ cluster: name, state: toState(name) })),
  };
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
