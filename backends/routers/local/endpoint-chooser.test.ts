// Turns, instances that failed, and the bound of each instance.
import { expect, test } from "vitest";
import { createEndpointChooser, filterEndpoints } from "./endpoint-chooser.ts";
import type { Endpoint } from "./routing-table.ts";

const [a, b] = ["a", "b"].map((instanceGUID) => ({ instanceGUID }) as Endpoint) as [Endpoint, Endpoint];
const route = { guid: "route" };
const none = new Set<Endpoint>();

test("an instance takes requests up to its bound, then the others, then none", () => {
  const chooser = createEndpointChooser(2);
  const taken = Array.from({ length: 5 }, () => chooser.acquire(route, [a, b], none));
  expect(taken.map((each) => (each === "busy" ? each : each?.instanceGUID)).sort()).toEqual([
    "a",
    "a",
    "b",
    "b",
    "busy",
  ]);
  chooser.release(b);
  expect(chooser.acquire(route, [a, b], none)).toBe(b);
  expect(chooser.acquire({ guid: "another" }, [a, b], none)).toBe("busy");
});

test("an instance that failed is passed over while another has room", () => {
  const chooser = createEndpointChooser(1);
  chooser.markFailed(a);
  expect(chooser.acquire(route, [a, b], none)).toBe(b);
  expect(chooser.acquire(route, [a, b], none)).toBe(a);
});

test("all tried is not busy", () => {
  const chooser = createEndpointChooser(1);
  expect(chooser.acquire(route, [a], new Set([a]))).toBeUndefined();
});

test("a request bound to one instance takes no turn from the others", () => {
  const chooser = createEndpointChooser(100);
  const plain = [1, 2, 3, 4].map(() => {
    chooser.acquire(route, [a], none);
    return chooser.acquire(route, [a, b], none);
  });
  expect(plain).toEqual([a, b, a, b]);
});

test("least-connection takes the instance with the fewest requests under way, in turn among equals", () => {
  const chooser = createEndpointChooser(10);
  const fair = { guid: "route", loadBalancing: "least-connection" } as const;
  for (let held = 0; held < 3; held++) chooser.acquire({ guid: "other" }, [a], none);
  expect([1, 2, 3].map(() => chooser.acquire(fair, [a, b], none))).toEqual([b, b, b]);
  expect(new Set([1, 2].map(() => chooser.acquire(fair, [a, b], none)))).toEqual(new Set([a, b]));
});

test("a process is chosen by its GUID; the web process by its app's, also after a rollout", () => {
  const at = (processGUID: string, index: number, processType = "web"): Endpoint =>
    ({ appGUID: "app", processGUID, processType, index }) as Endpoint;
  const [old, next, worker] = [at("app", 0), at("rollout", 0), at("worker", 0, "worker")];
  const during = [old, next, worker];
  expect(filterEndpoints(during, { process: "app" })).toEqual([old]);
  expect(filterEndpoints(during, { process: "rollout" })).toEqual([next]);
  expect(filterEndpoints(during, { process: "app", index: 1 })).toEqual([]);
  expect(filterEndpoints([next, worker], { process: "app", index: 0 })).toEqual([next]);
  expect(filterEndpoints([next, worker], { process: "other" })).toEqual([]);
  expect(filterEndpoints(during, { app: "app", index: 0 })).toEqual(during);
});
