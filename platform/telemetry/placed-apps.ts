// Which other clusters have logs and instances of an app: those that have processes or tasks of it, and those that had some lately.
import { LRUCache } from "lru-cache";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { LABELS } from "../../crds/labels.ts";
import { listIndexes } from "../../crds/lrp/index-pool.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Task } from "../../crds/task/task.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change, Store } from "../../kube/cache/reader.ts";

/** The number of apps whose clusters are remembered, so that their last lines stay readable after they have stopped. */
const MAX_REMEMBERED = 20_000;

export interface PlacedApps {
  isOn(cluster: string, app: string): boolean;
  /** Whether the platform has placed this instance there. */
  isAssigned(cluster: string, instance: { process: string; index: number }): boolean;
  release(): void;
}

export function followPlacedApps(informers: Informers): PlacedApps {
  const { store, release } = informers.ensure(PlacementDecision);
  const tasks = informers.ensure(Task);
  const remembered = new LRUCache<string, ReadonlySet<string>>({ max: MAX_REMEMBERED });
  const remember = (app: string, names: readonly string[]): void => {
    const elsewhere = names.filter((name) => name !== LOCAL_CLUSTER);
    const known = remembered.get(app);
    if (elsewhere.some((name) => !known?.has(name))) remembered.set(app, new Set([...(known ?? []), ...elsewhere]));
  };
  const stops = [
    ...follow(store, ({ spec, status }) =>
      remember(spec.app, [...spec.assignments.map(({ cluster }) => cluster), ...(status?.clusters ?? []).map(nameOf)]),
    ),
    ...follow(tasks.store, ({ metadata, status }) => {
      const app = metadata.labels?.[LABELS.app];
      if (app !== undefined && status?.cluster !== undefined) remember(app, [status.cluster]);
    }),
  ];
  return {
    isOn: (cluster, app) => remembered.get(app)?.has(cluster) === true,
    isAssigned(cluster, { process, index }) {
      const decisions = store.synced ? store.list({ labels: { [LABELS.process]: process } }) : [];
      const assigned = decisions.flatMap(({ spec }) => spec.assignments).filter((one) => one.cluster === cluster);
      return assigned.some(({ indexes }) => listIndexes(indexes).includes(index));
    },
    release() {
      for (const stop of stops) stop();
      release();
      tasks.release();
    },
  };
}

/** The objects that are known already, which a store does not replay, and each one that changes. Returns the functions that end it. */
function follow<T extends KubeObject>(store: Store<T>, see: (object: T) => void): (() => void)[] {
  const seeAll = (): void => {
    if (store.synced) for (const object of store.list({ partial: true })) see(object);
  };
  seeAll();
  // A deleted object may be a tombstone, which has no spec.
  const seeChange = ({ type, object }: Change<T>): void => {
    if (type !== "deleted") see(object);
  };
  return [store.onChange(seeChange), store.onStateChange(seeAll)];
}

const nameOf = ({ name }: { name: string }): string => name;
