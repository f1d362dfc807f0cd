// Demand of a process on its quotas.
import { expect, test } from "vitest";
import { anApp, aProcess, aRevision, aRollout } from "../../crds/testing/objects.ts";
import { desiredDemand } from "./process-demand.ts";

const size = (memoryMB: number): object => ({
  description: "",
  dropletRef: { name: "d" },
  processes: [
    {
      type: "web",
      memoryMB,
      diskMB: 1,
      logRateLimitBytesPerSecond: 5,
      healthCheck: { type: "port" },
      readinessHealthCheck: { type: "process" },
      ports: [8080],
      runner: "runner",
    },
  ],
});
const process = aProcess({ instances: 3, memoryMB: 100, logRateLimitBytesPerSecond: 10 });
const started = anApp({ state: "Started" }, { status: { revision: "shop-1" } });
const none = { rollouts: [], revisions: [] };

test("nothing while the app is stopped", () => {
  expect(desiredDemand(process, anApp({ state: "Stopped" }), none).instances).toBe(0);
  expect(desiredDemand(process, undefined, none).instances).toBe(0);
});

test("the larger of its spec and of what runs", () => {
  const history = { rollouts: [], revisions: [aRevision(1, size(200))] };
  expect(desiredDemand(process, started, history)).toEqual({
    instances: 3,
    memoryMB: 200,
    logRateLimitBytesPerSecond: 10,
  });
  const unlimited = aProcess({ instances: 1, memoryMB: 300, logRateLimitBytesPerSecond: -1 });
  expect(desiredDemand(unlimited, started, history)).toEqual({
    instances: 1,
    memoryMB: 300,
    logRateLimitBytesPerSecond: -1,
  });
});

test("during a Rollout the new instances beside the old ones, of the larger size", () => {
  const history = {
    rollouts: [aRollout({ maxInFlight: 2 })],
    revisions: [aRevision(1, size(100)), aRevision(2, { ...size(400), rollout: "r1" })],
  };
  expect(desiredDemand(process, started, history)).toMatchObject({ instances: 5, memoryMB: 400 });
});
