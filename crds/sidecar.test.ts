// Which sidecars a process has, and the memory that they leave it.
import { expect, test } from "vitest";
import { mainMemoryMB, mergeSidecars, sidecarContainerName, sidecarsOfType, type Sidecar } from "./sidecar.ts";

const proxy: Sidecar = { name: "proxy", command: "envoy", processTypes: ["web", "worker"], memoryMB: 64 };
const agent: Sidecar = { name: "agent", command: "run", processTypes: ["web"] };

test("of two sidecars with one name the user's is kept; all are sorted by name", () =>
  expect(mergeSidecars([proxy], [{ ...proxy, command: "other" }, agent])).toEqual([agent, proxy]));

test("an app without sidecars has none", () => expect(mergeSidecars(undefined, undefined)).toEqual([]));

test("a process has the sidecars that name its type", () => {
  expect(sidecarsOfType([agent, proxy], "worker")).toEqual([{ name: "proxy", command: "envoy", memoryMB: 64 }]);
  expect(sidecarsOfType(undefined, "web")).toEqual([]);
});

test.each<[number, { memoryMB?: number }[] | undefined, number]>([
  [256, [proxy, agent], 192],
  [256, undefined, 256],
  [32, [proxy], 1],
])("of %s MB with sidecars %j the program keeps %s", (memoryMB, sidecars, left) =>
  expect(mainMemoryMB({ memoryMB, sidecars })).toBe(left),
);

test.each([
  ["proxy", /^proxy$/],
  ["application", /^application-\w{5}$/],
  ["My Proxy!", /^my-proxy-\w{5}$/],
  ["日本", /^sidecar-\w{5}$/],
  ["x".repeat(80), /^x{34}-\w{5}$/],
])("the container of sidecar %s is named %s", (name, container) =>
  expect(sidecarContainerName(name)).toMatch(container),
);
