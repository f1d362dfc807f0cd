// The status of an LRP: a condition about its present spec, silence while nothing happens, and nothing on LRPs of other classes.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createProbe, readyOf } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

/** Longer than the shortest interval at which a runner might write out of habit. */
const QUIET_MS = 5000;

export function statusRows(given: () => RunnerFixtures): void {
  test.concurrent("Ready is about the present spec, and a running LRP is not written", async () => {
    const probe = await createProbe(given().env, "quiet");
    await probe.running();
    const settled = await probe.until((lrp) => {
      expect(readyOf(lrp)).toMatchObject({ status: "True", observedGeneration: lrp.metadata.generation });
      expect(lrp.status).toMatchObject({ observedGeneration: lrp.metadata.generation, runningInstances: 1 });
      return lrp;
    });
    expect(readyOf(settled)?.reason).toMatch(/^[A-Z][A-Za-z]*$/);
    await delay(QUIET_MS);
    expect((await probe.get()).metadata.resourceVersion).toBe(settled.metadata.resourceVersion);
  });

  test.concurrent("an LRP of another class is left alone", async () => {
    const { env } = given();
    const foreign = await createProbe(env, "foreign", { class: "somebody-else" });
    const made = await foreign.get();
    const own = await createProbe(env, "own-beside-foreign");
    await own.running();
    // The runner has seen the later one, so it has seen this one.
    expect((await foreign.get()).metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    await foreign.delete();
    expect(await foreign.isGone()).toBe(true);
  });
}
