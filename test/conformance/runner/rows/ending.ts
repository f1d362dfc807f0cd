// How instances end: by signals, by deletion of the LRP, by themselves.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../eventually.ts";
import { createProbe, instanceOf, PORT, type ProbeLRP } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

const GRACE_MS = 10_000;
/** From the deletion to SIGTERM, and from the end of the process to the end of the LRP. */
const SLACK_MS = 30_000;

async function waitGone(probe: ProbeLRP, withinMs: number): Promise<void> {
  await eventually(async () => {
    if (!(await probe.isGone())) throw new Error(`the LRP ${probe.name} is still there`);
  }, withinMs);
}

export function endingRows(given: () => RunnerFixtures): void {
  test.concurrent("an instance gets SIGTERM and time to end; the LRP exists until it has ended", async () => {
    const { env } = given();
    const probe = await createProbe(env, "graceful", { env: [{ name: "PROBE_ON_SIGTERM", value: "4000" }] });
    const instance = await probe.running();
    await probe.delete();
    await eventually(async () => {
      // Asked at its address, since the status may already have forgotten it.
      const { body } = await env.request(instance, PORT, "/state");
      expect(JSON.parse(body)).toMatchObject({ signals: ["SIGTERM"] });
    }, env.patience);
    const signalled = Date.now();
    expect(await probe.isGone()).toBe(false);
    await waitGone(probe, SLACK_MS);
    // It has taken the 4 s that it needs, but for the time between the signal and our seeing it.
    expect(Date.now() - signalled).toBeGreaterThan(2500);
    await expect(env.request(instance, PORT, "/state")).rejects.toThrow();
  });

  test.concurrent("an instance that ignores SIGTERM is killed after 10 s", async () => {
    const { env } = given();
    const probe = await createProbe(env, "stubborn", { env: [{ name: "PROBE_ON_SIGTERM", value: "ignore" }] });
    const instance = await probe.running();
    const deleted = Date.now();
    await probe.delete();
    await waitGone(probe, GRACE_MS + SLACK_MS);
    expect(Date.now() - deleted).toBeGreaterThan(GRACE_MS - 500);
    await expect(env.request(instance, PORT, "/state")).rejects.toThrow();
  });

  test.concurrent("an instance that ends is a crash with its exit code counted, and is started again", async () => {
    const probe = await createProbe(given().env, "crashed-once", { instances: 2 });
    await Promise.all([probe.running(0), probe.running(1)]);
    const [zero, one] = [await probe.boot(0), await probe.boot(1)];
    await probe.ask(1, "/exit?code=3");
    await probe.until(async (lrp) => {
      expect(instanceOf(lrp, 1)).toMatchObject({ state: "Running", ready: true, crashCount: 1 });
      expect(await probe.boot(1)).not.toBe(one);
    });
    expect(instanceOf(await probe.get(), 0).crashCount ?? 0).toBe(0);
    expect(await probe.boot(0)).toBe(zero);
  });

  test.concurrent("an instance that crashes again and again waits longer and longer, and says why", async () => {
    const { env } = given();
    const probe = await createProbe(env, "crash-loop", { env: [{ name: "PROBE_EXIT", value: "7" }] });
    const count = (): Promise<number> =>
      probe.until((lrp) => {
        const { state, crashCount = 0, details, ready } = instanceOf(lrp, 0);
        expect({ state, ready, details }).toEqual({
          state: "Crashed",
          ready: false,
          details: expect.stringMatching(/^APP\/PROC\/WEB: Exited with status 7\b/),
        });
        expect(crashCount).toBeGreaterThan(1);
        return crashCount;
      });
    const first = await count();
    await delay(5000);
    // Without a pause there would be dozens.
    expect((await count()) - first).toBeLessThan(5);
  });
}
