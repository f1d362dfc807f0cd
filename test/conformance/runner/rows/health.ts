// Health checks: when an instance counts as running, when as crashed, and when routes may use it.
import { expect, test } from "vitest";
import { createProbe, instanceOf } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

const variables = (values: Record<string, string | number>): { name: string; value: string }[] =>
  Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));

export function healthRows(given: () => RunnerFixtures): void {
  test.concurrent("an instance is Starting until its port is open", async () => {
    const { env, history } = given();
    const probe = await createProbe(env, "late-port", { env: variables({ PROBE_LISTEN_AFTER: 3000 }) });
    await probe.running();
    // Running, it answers at once.
    await probe.boot();
    const states = history.of(probe.name).map((lrp) => lrp.status?.instances?.[0]?.state ?? "Starting");
    expect(states.slice(0, states.indexOf("Running")).filter((state) => state !== "Starting")).toEqual([]);
  });

  test.concurrent("an instance with an http check is Starting until the check succeeds", async () => {
    const { env } = given();
    const probe = await createProbe(env, "late-health", {
      healthCheck: { type: "http", endpoint: "/health" },
      env: variables({ PROBE_HEALTHY_AFTER: 3000 }),
    });
    await probe.running();
    expect(await env.request(instanceOf(await probe.get(), 0), 8080, "/health")).toMatchObject({ status: 200 });
  });

  test.concurrent("an instance that never becomes healthy crashes after the timeout, and says so", async () => {
    const probe = await createProbe(given().env, "never-healthy", {
      healthCheck: { type: "port", timeoutSeconds: 2 },
      env: variables({ PROBE_LISTEN_AFTER: "never" }),
    });
    const { details, crashCount } = await probe.inState("Crashed");
    expect(details).toMatch(/never healthy/);
    expect(crashCount).toBeGreaterThan(0);
  });

  test.concurrent("one failed check of a running instance is a crash, and it is started again", async () => {
    const probe = await createProbe(given().env, "unhealthy", {
      healthCheck: { type: "http", endpoint: "/health", intervalSeconds: 1 },
    });
    await probe.running();
    const first = await probe.boot();
    await probe.ask(0, "/set?health=500");
    await probe.until(async (lrp) => {
      expect(instanceOf(lrp, 0)).toMatchObject({ state: "Running", ready: true, crashCount: 1 });
      expect(await probe.boot()).not.toBe(first);
    });
  });

  test.concurrent("an instance that is not ready gets no requests, and runs on", async () => {
    const probe = await createProbe(given().env, "not-ready", {
      readinessHealthCheck: { type: "http", endpoint: "/ready", intervalSeconds: 1 },
    });
    await probe.running();
    const first = await probe.boot();
    await probe.ask(0, "/set?ready=503");
    await probe.until((lrp) => {
      expect(instanceOf(lrp, 0)).toMatchObject({ state: "Running", ready: false });
      expect(lrp.status?.runningInstances).toBe(0);
    });
    await probe.ask(0, "/set?ready=200");
    await probe.running();
    expect(await probe.boot()).toBe(first);
  });
}
