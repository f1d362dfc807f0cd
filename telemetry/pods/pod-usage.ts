// CPU and memory of instances that run in pods, from metrics.k8s.io (metrics-server): one list for a space, remembered for some seconds.
import { LRUCache } from "lru-cache";
import type { KubeObject } from "../../kube/api/object.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { indexOfPod } from "./pod-index.ts";

interface PodMetrics extends KubeObject {
  /** RFC 3339, end of the window over which it was measured. */
  timestamp: string;
  containers: { name: string; usage: { cpu: string; memory: string } }[];
}

const PodMetrics: ResourceRef<PodMetrics> = {
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "PodMetrics",
  plural: "pods",
  namespaced: true,
};

/** Permission to read the usage of pods. */
export const POD_USAGE_PERMISSIONS: readonly Permission[] = [{ resource: PodMetrics, verbs: ["list"] }];

/** Usage of one instance, its sidecars included. `cpu` in cores, `mem` in bytes, `time` in RFC 3339. */
export interface PodUsage {
  time: string;
  cpu: number;
  mem: number;
}

/** The usage of an LRP's instances by index; empty where nothing measures. Never rejects. */
export type ReadPodUsage = (lrp: { namespace: string; name: string }) => Promise<ReadonlyMap<number, PodUsage>>;

type SpaceUsage = ReadonlyMap<string, ReadonlyMap<number, PodUsage>>;

/** metrics-server measures every 15 s. */
const FRESH_MS = 15_000;
/** Answered at once while a newer list is under way; older ones are not shown. */
const USABLE_MS = 60_000;
/** How long nobody asks again after a failure: without metrics-server every list fails. */
const PAUSE_MS = 30_000;
const LIST_DEADLINE_MS = 2_000;
const MAX_SPACES = 1_000;

export interface PodUsageOptions {
  client: Pick<KubeClient, "list">;
  now: () => Date;
}

interface Space {
  usage?: SpaceUsage;
  listedAt: number;
  failedAt: number;
  listing?: Promise<void>;
}

/** Reads through the API server; a request waits for it at most 2 s, and only when the space has not been read for a minute. */
export function createPodUsageReader({ client, now }: PodUsageOptions): ReadPodUsage {
  const spaces = new LRUCache<string, Space>({ max: MAX_SPACES });
  return async ({ namespace, name }) => {
    const space = spaces.get(namespace) ?? { listedAt: -Infinity, failedAt: -Infinity };
    spaces.set(namespace, space);
    const time = now().getTime();
    if (time - space.listedAt >= FRESH_MS && time - space.failedAt >= PAUSE_MS)
      space.listing ??= list(space, namespace);
    if (time - space.listedAt >= USABLE_MS) {
      delete space.usage;
      await space.listing;
    }
    return space.usage?.get(name) ?? new Map<number, PodUsage>();
  };

  async function list(space: Space, namespace: string): Promise<void> {
    try {
      const { items } = await client.list(PodMetrics, {
        namespace,
        labelSelector: LABELS.lrp,
        deadlineMs: LIST_DEADLINE_MS,
      });
      space.usage = groupByLRP(items);
      space.listedAt = now().getTime();
    } catch (_error) {
      // Usage is a bonus: where no metrics API exists or answers, stats come without it.
      space.failedAt = now().getTime();
    } finally {
      delete space.listing;
    }
  }
}

function groupByLRP(items: readonly PodMetrics[]): SpaceUsage {
  const usage = new Map<string, Map<number, PodUsage>>();
  for (const { metadata, timestamp, containers } of items) {
    const lrp = metadata.labels?.[LABELS.lrp];
    const index = indexOfPod(metadata.labels);
    if (lrp === undefined || index === undefined) continue;
    const instances = usage.get(lrp) ?? new Map<number, PodUsage>();
    usage.set(lrp, instances);
    instances.set(Number(index), {
      time: timestamp,
      cpu: sum(containers.map((container) => parseQuantity(container.usage.cpu) ?? 0)),
      mem: Math.round(sum(containers.map((container) => parseQuantity(container.usage.memory) ?? 0))),
    });
  }
  return usage;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
