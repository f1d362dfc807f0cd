// Logs and stats, where the class publishes them.
import { expect, test } from "vitest";
import { eventually } from "../../../eventually.ts";
import { createProbe } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

const MB = 2 ** 20;

export function telemetryRows(given: () => RunnerFixtures): void {
  test.concurrent("output is logged by instance, with streams apart where the class says so", async ({ skip }) => {
    const { env, capabilities } = given();
    if (!env.logs) return skip("the class publishes no logs");
    const { logs } = env;
    const probe = await createProbe(env, "logs", { instances: 2 });
    await Promise.all([probe.running(0), probe.running(1)]);
    await Promise.all([0, 1].map((index) => probe.ask(index, `/log?out=out+of+${index}&err=err+of+${index}`)));
    const apart = (capabilities["logStreams"] ?? "").split(",").includes("stderr");
    await eventually(async () => {
      const lines = await logs(await probe.get());
      const said = lines.filter(({ text }) => / of /.test(text)).toSorted((a, b) => (a.text < b.text ? -1 : 1));
      expect(said).toEqual([
        { index: 0, stream: apart ? "ERR" : "OUT", text: "err of 0" },
        { index: 1, stream: apart ? "ERR" : "OUT", text: "err of 1" },
        { index: 0, stream: "OUT", text: "out of 0" },
        { index: 1, stream: "OUT", text: "out of 1" },
      ]);
    }, env.patience);
  });

  test.concurrent("the last lines before a crash are logged", async ({ skip }) => {
    const { env } = given();
    if (!env.logs) return skip("the class publishes no logs");
    const { logs } = env;
    const probe = await createProbe(env, "last-words", { env: [{ name: "PROBE_EXIT", value: "9" }] });
    await probe.inState("Crashed");
    await eventually(async () => {
      const lines = (await logs(await probe.get())).map(({ text }) => text);
      expect(lines.filter((text) => /^(out|err): started/.test(text)).length).toBeGreaterThan(1);
    }, env.patience);
  });

  test.concurrent("usage is measured for each instance", async ({ skip }) => {
    const { env } = given();
    if (!env.usage) return skip("the class publishes no stats");
    const { usage } = env;
    const probe = await createProbe(env, "usage", { instances: 2 });
    await Promise.all([probe.running(0), probe.running(1)]);
    await eventually(async () => {
      const measured = (await usage(await probe.get())).toSorted((a, b) => a.index - b.index);
      expect(measured.map(({ index }) => index)).toEqual([0, 1]);
      for (const { mem, cpu } of measured) {
        expect(mem).toBeGreaterThan(10 * MB);
        expect(mem).toBeLessThan(128 * MB);
        expect(cpu).toBeGreaterThanOrEqual(0);
      }
    }, env.patience);
  });
}
