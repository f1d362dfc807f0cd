// Indexes: as many as asked for, the lowest ones, and one restarted alone.
import { expect, test } from "vitest";
import { createProbe, indexesOf, type ProbeLRP } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

const boots = (probe: ProbeLRP, ...indexes: number[]): Promise<string[]> =>
  Promise.all(indexes.map((index) => probe.boot(index)));

export function instanceRows(given: () => RunnerFixtures): void {
  test.concurrent("instances have the indexes from 0; scaling down ends the highest first", async () => {
    const { env, history } = given();
    const probe = await createProbe(env, "scaled", { instances: 3 });
    await probe.until((lrp) => expect(lrp.status?.runningInstances).toBe(3));
    const [zero, ...others] = await boots(probe, 0, 1, 2);
    expect(new Set([zero, ...others]).size).toBe(3);
    for (const index of [0, 1, 2])
      expect(await probe.ask(index, "/env")).toMatchObject({ CF_INSTANCE_INDEX: String(index) });

    await probe.change({ instances: 1 });
    await probe.until((lrp) => expect([lrp.status?.runningInstances, indexesOf(lrp)]).toEqual([1, [0]]));
    expect(await boots(probe, 0)).toEqual([zero]);
    const wrong = history.of(probe.name).filter((lrp) => indexesOf(lrp).includes(2) && !indexesOf(lrp).includes(1));
    // While the three start, one may be missing; afterwards 1 never ends before 2.
    expect(wrong.filter((lrp) => lrp.spec.instances === 1)).toEqual([]);

    await probe.change({ instances: 2 });
    await probe.running(1);
    expect((await boots(probe, 0, 1)).filter((boot) => others.includes(boot))).toEqual([]);
    expect(await boots(probe, 0)).toEqual([zero]);
  });

  test.concurrent("an LRP with no instances runs none, and is Ready", async () => {
    const probe = await createProbe(given().env, "none", { instances: 1 });
    await probe.running();
    await probe.change({ instances: 0 });
    await probe.until((lrp) => {
      expect([lrp.status?.runningInstances, indexesOf(lrp)]).toEqual([0, []]);
      expect(lrp.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    });
  });

  test.concurrent("restartInstances restarts that instance alone, and once", async () => {
    const probe = await createProbe(given().env, "restarted", { instances: 2 });
    const before = [await probe.running(0), await probe.running(1)];
    const [zero, one] = await boots(probe, 0, 1);
    await probe.change({ restartInstances: { "1": "first" } });
    const after = await probe.until(async (lrp) => {
      const instance = lrp.status?.instances?.find(({ index }) => index === 1);
      expect(instance).toMatchObject({ state: "Running", ready: true, restart: "first" });
      expect(await probe.boot(1)).not.toBe(one);
      return instance;
    });
    expect(after?.guid).not.toBe(before[1]?.guid);
    const restarted = await probe.boot(1);
    await probe.change({ restartInstances: { "0": "second", "1": "first" } });
    await probe.until(async (lrp) => {
      expect(lrp.status?.instances?.find(({ index }) => index === 0)).toMatchObject({
        state: "Running",
        ready: true,
        restart: "second",
      });
      expect(await probe.boot(0)).not.toBe(zero);
    });
    expect(await probe.boot(1)).toBe(restarted);
  });
}
