// The memory of a cluster from its nodes and pods.
import { expect, test } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { readCapacity, type NodeMemory, type PodMemory } from "./capacity.ts";
import { planFacts } from "./plan.ts";

const node = (memory: string, unschedulable = false): NodeMemory => ({
  spec: { unschedulable },
  status: { allocatable: { memory } },
});
const pod = (...memory: string[]): PodMemory => ({
  spec: { containers: memory.map((one) => ({ resources: { requests: { memory: one } } })) },
});

/** A page of each, the next by `continue`. */
function serve(pages: { nodes: NodeMemory[][]; pods: PodMemory[][] }): Pick<KubeClient, "raw"> {
  return {
    raw(_method: string, path: string) {
      const { pathname, searchParams } = new URL(path, "https://k8s");
      const all = pathname === "/api/v1/nodes" ? pages.nodes : pages.pods;
      const at = Number(searchParams.get("continue") || 0);
      const metadata = at + 1 < all.length ? { continue: String(at + 1) } : {};
      return Promise.resolve({ items: all[at] ?? [], metadata });
    },
  } as unknown as Pick<KubeClient, "raw">;
}

test("nodes that take pods count, and the requests of all pages of pods", async () => {
  const nodes = [[node("2Gi"), node("8Gi", true)], [node("1048576Ki")]];
  const pods = [
    [pod("100Mi", "28Mi"), {}],
    [pod("0.5Gi"), { spec: { containers: [{}] } }],
  ];
  expect(await readCapacity(serve({ nodes, pods }))).toEqual({ memoryMB: 3072, requestedMemoryMB: 640 });
});

test("a node that is not ready does not count", async () => {
  const lost = { status: { allocatable: { memory: "8Gi" }, conditions: [{ type: "Ready", status: "Unknown" }] } };
  expect(await readCapacity(serve({ nodes: [[node("2Gi"), lost]], pods: [[]] }))).toEqual({
    memoryMB: 2048,
    requestedMemoryMB: 0,
  });
});

test("without nodes, or with more pages than can be read, nothing is known", async () => {
  expect(await readCapacity(serve({ nodes: [[]], pods: [[pod("1Gi")]] }))).toBeUndefined();
  const pods = Array.from({ length: 101 }, () => [pod("1Mi")]);
  expect(await readCapacity(serve({ nodes: [[node("1Gi")]], pods }))).toBeUndefined();
});

test("a small change of the requests is not told", () => {
  const facts = (requestedMemoryMB: number, memoryMB = 1000) => ({ capacity: { memoryMB, requestedMemoryMB } });
  expect(planFacts(facts(100), facts(119))).toEqual(facts(100));
  expect(planFacts(facts(100), facts(120))).toEqual(facts(120));
  expect(planFacts(facts(100), facts(100, 2000))).toEqual(facts(100, 2000));
  expect(planFacts(facts(100), {})).toEqual({});
  expect(planFacts({ ...facts(100), cupola: "1" }, { ...facts(101), cupola: "2" })).toEqual({
    ...facts(100),
    cupola: "2",
  });
});
