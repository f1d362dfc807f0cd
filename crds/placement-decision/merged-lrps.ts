// The LRPs of a process on all its clusters as one LRP for each revision, for readers who do not care where instances run. Pure.
import { listIndexes, toRanges, wantedIndexes } from "../lrp/index-pool.ts";
import type { LRP, LrpInstance } from "../lrp/lrp.ts";
import type { PlacedLRP, PlacementDecision } from "./placement-decision.ts";

/** The fields of an LRP that tell which instances a version has, and what they do. */
export interface RunningLRP {
  metadata: Pick<LRP["metadata"], "name" | "namespace" | "deletionTimestamp">;
  /** Names of the LRPs that were merged; only its own when left out. */
  names?: readonly string[];
  spec: Pick<
    LRP["spec"],
    | "class"
    | "revision"
    | "processGUID"
    | "instances"
    | "indexes"
    | "memoryMB"
    | "diskMB"
    | "cpu"
    | "logRateLimitBytesPerSecond"
  >;
  status?:
    | (Pick<NonNullable<LRP["status"]>, "runningInstances" | "conditions"> & {
        instances?: RunningInstance[] | undefined;
      })
    | undefined;
}

export interface RunningInstance extends LrpInstance {
  /** Set where a process has instances on several clusters. */
  cluster?: string;
}

/** The LRP with that name, as part of its version on all clusters; undefined when no cluster has it. */
export function findMergedLRP(decision: PlacementDecision, name: string | undefined): RunningLRP | undefined {
  return mergedLRPsOf(decision).find(({ names = [] }) => name !== undefined && names.includes(name));
}

/** An entry of the decision's status for an LRP on a cluster. */
export function toPlacedLRP(cluster: string, { metadata, spec, status }: LRP): PlacedLRP {
  const { class: runner, revision, processGUID, memoryMB, diskMB, cpu, logRateLimitBytesPerSecond, indexes } = spec;
  return {
    name: cluster,
    lrp: metadata.name,
    revision,
    version: spec.version,
    readinessCheck: spec.readinessHealthCheck.type,
    class: runner,
    processGUID,
    memoryMB,
    diskMB,
    ...(cpu !== undefined && { cpu }),
    logRateLimitBytesPerSecond,
    wanted: spec.instances,
    ...(indexes && { indexes }),
    ...(metadata.deletionTimestamp !== undefined && { deleting: true }),
    ...(status?.instances && { instances: status.instances }),
  };
}

/** Merges the LRPs of each revision. */
export function mergeLRPs(namespace: string | undefined, placed: readonly PlacedLRP[]): RunningLRP[] {
  const groups = Map.groupBy(placed, ({ revision }) => revision);
  return [...groups.values()].flatMap((group) => mergeGroup(namespace, group) ?? []);
}

/** The merged LRPs of a decision. */
export function mergedLRPsOf({ metadata, status }: PlacementDecision): RunningLRP[] {
  return mergeLRPs(metadata.namespace, status?.clusters ?? []);
}

function mergeGroup(namespace: string | undefined, group: readonly PlacedLRP[]): RunningLRP | undefined {
  const live = group.filter(({ deleting }) => !deleting);
  const shown = live.length > 0 ? live : group;
  const isSpread = new Set(shown.map(({ name }) => name)).size > 1;
  const [first] = shown;
  if (!first) return undefined;
  const { lrp, class: runner, revision, processGUID, memoryMB, diskMB, cpu, logRateLimitBytesPerSecond } = first;
  const indexes = toRanges(shown.flatMap((one) => wantedIndexes({ instances: one.wanted, indexes: one.indexes })));
  const reported = shown.filter(({ instances }) => instances !== undefined);
  const instances = oneOfEach(shown.map(withStarting).flatMap((one) => toInstances(one, isSpread)));
  return {
    metadata: {
      name: lrp,
      ...(namespace !== undefined && { namespace }),
      ...(live.length === 0 && { deletionTimestamp: "terminating" }),
    },
    names: shown.map((one) => one.lrp),
    spec: {
      class: runner,
      revision,
      processGUID,
      memoryMB,
      diskMB,
      ...(cpu !== undefined && { cpu }),
      logRateLimitBytesPerSecond,
      instances: listIndexes(indexes).length,
      indexes,
    },
    ...(reported.length > 0 && {
      status: {
        instances,
        runningInstances: instances.filter(({ state, ready }) => state === "Running" && ready).length,
      },
    }),
  };
}

/** While an instance moves to another cluster its index is on both: the one that does more counts. */
function oneOfEach(instances: readonly RunningInstance[]): RunningInstance[] {
  const best = new Map<number, RunningInstance>();
  for (const one of instances) {
    const known = best.get(one.index);
    if (!known || toProgress(one) > toProgress(known)) best.set(one.index, one);
  }
  return [...best.values()].sort((a, b) => a.index - b.index);
}

function toProgress({ state, ready }: RunningInstance): number {
  if (state === "Running") return ready ? 3 : 2;
  return state === "Starting" ? 1 : 0;
}

/** An LRP that its runner has not seen yet, beside those of other clusters. */
function withStarting(placed: PlacedLRP): PlacedLRP {
  if (placed.instances) return placed;
  const indexes = wantedIndexes({ instances: placed.wanted, indexes: placed.indexes });
  return { ...placed, instances: indexes.map((index) => ({ index, state: "Starting", ready: false })) };
}

/** Nobody knows what the instances of a cluster do that does not answer: they count as down. */
function toInstances({ name, unreachableSince, instances = [] }: PlacedLRP, isSpread: boolean): RunningInstance[] {
  if (unreachableSince === undefined)
    return isSpread ? instances.map((instance) => ({ ...instance, cluster: name })) : instances;
  const details = `cluster ${name} unreachable since ${unreachableSince}`;
  return instances.map(({ index }) => ({ index, state: "Down", ready: false, details }));
}
