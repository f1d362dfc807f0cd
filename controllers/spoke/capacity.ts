// Memory of a cluster: what its nodes have for pods, and what pods have asked for. Reads all nodes and pods, page by page.
import type { KubeClient } from "../../kube/client/client.ts";
import { parseQuantity } from "../../kube/api/quantity.ts";
import type { SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";

const MB = 2 ** 20;
const PAGE = 200;
/** Beyond 20,000 objects the capacity is not known. */
const MAX_PAGES = 100;
const DEADLINE_MS = 15_000;

export const CAPACITY_PERMISSIONS: readonly Permission[] = [
  { resource: { group: "", plural: "nodes" }, verbs: ["list"] },
  { resource: { group: "", plural: "pods" }, verbs: ["list"] },
];

export interface NodeMemory {
  spec?: { unschedulable?: boolean };
  status?: { allocatable?: { memory?: string }; conditions?: readonly { type: string; status: string }[] };
}

export interface PodMemory {
  spec?: { containers?: readonly { resources?: { requests?: { memory?: string } } }[] };
}

/** Undefined where there are no nodes, or too many objects to count. */
export async function readCapacity(client: Pick<KubeClient, "raw">): Promise<SpokeFacts["capacity"]> {
  let memory = 0;
  const hasNodes = await eachOf<NodeMemory>(client, "nodes", "", (node) => (memory += allocatableOf(node)));
  if (!hasNodes || memory === 0) return undefined;
  let requested = 0;
  const running = "&fieldSelector=status.phase!=Succeeded,status.phase!=Failed";
  const hasPods = await eachOf<PodMemory>(client, "pods", running, (pod) => (requested += requestedBy(pod)));
  if (!hasPods) return undefined;
  return { memoryMB: Math.floor(memory / MB), requestedMemoryMB: Math.ceil(requested / MB) };
}

/** In bytes. A node that is cordoned or not ready takes no pod. */
export function allocatableOf({ spec, status }: NodeMemory): number {
  const isReady = (status?.conditions ?? []).every(({ type, status: is }) => type !== "Ready" || is === "True");
  return spec?.unschedulable || !isReady ? 0 : (parseQuantity(status?.allocatable?.memory ?? "") ?? 0);
}

/** In bytes. */
export function requestedBy({ spec }: PodMemory): number {
  return (spec?.containers ?? []).reduce(
    (sum, { resources }) => sum + (parseQuantity(resources?.requests?.memory ?? "") ?? 0),
    0,
  );
}

/** Resolves to false when there are more than can be read. */
async function eachOf<T>(
  client: Pick<KubeClient, "raw">,
  plural: string,
  query: string,
  see: (object: T) => void,
): Promise<boolean> {
  let more = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const path = `/api/v1/${plural}?limit=${PAGE}${query}&continue=${encodeURIComponent(more)}`;
    const list = (await client.raw("GET", path, undefined, { deadlineMs: DEADLINE_MS })) as {
      items: T[];
      metadata?: { continue?: string };
    };
    for (const one of list.items) see(one);
    more = list.metadata?.continue ?? "";
    if (more === "") return true;
  }
  return false;
}
