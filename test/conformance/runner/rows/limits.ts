// Memory and disk, where the class says that it limits them.
import { expect, test } from "vitest";
import { createProbe } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

export function limitRows(given: () => RunnerFixtures): void {
  test.concurrent("an instance above its memory limit is ended, with that reason", async ({ skip }) => {
    const { env, capabilities, history } = given();
    skip(capabilities["memoryLimit"] === undefined, "the class claims no memoryLimit");
    const probe = await createProbe(env, "hog", { env: [{ name: "PROBE_HOG_MB", value: "512" }] });
    await probe.until(() => {
      const details = history.of(probe.name).map((lrp) => lrp.status?.instances?.[0]?.details ?? "");
      expect(
        details.filter((text) => /^APP\/PROC\/WEB: Exited with status 137 \(out of memory/.test(text)),
      ).not.toEqual([]);
    });
  });

  test.concurrent("an instance above its disk limit is ended, with that reason", async ({ skip }) => {
    const { env, capabilities, history } = given();
    skip(capabilities["diskLimit"] === undefined, "the class claims no diskLimit");
    const probe = await createProbe(env, "filler", { env: [{ name: "PROBE_FILL_MB", value: "600" }] });
    await probe.until(() => {
      const details = history.of(probe.name).map((lrp) => lrp.status?.instances?.[0]?.details ?? "");
      expect(details.filter((text) => text.includes("disk"))).not.toEqual([]);
    });
  });
}
