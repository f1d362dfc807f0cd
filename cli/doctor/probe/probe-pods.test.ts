// How long the pods of a probe live, and the durations that people read.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { POD_DEADLINE_MS, PROBE_MINUTES } from "./duration.ts";
import { toProbePod } from "./probe-pods.ts";

test("the pod that listens lives until the one that reaches it has had its time", () => {
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "cupola-controllers" } };
  const pod = toProbePod(deployment, { id: "1", role: "listen", args: [] });
  expect((pod.spec?.activeDeadlineSeconds ?? 0) * 1000).toBeGreaterThan(2 * POD_DEADLINE_MS);
});

test("the page says how long a probe may take", () => {
  expect(PROBE_MINUTES * 60_000).toBe(2 * POD_DEADLINE_MS);
  const page = readFileSync(new URL("../../../docs/operate/doctor.md", import.meta.url), "utf8");
  expect(page).toContain(`for ${PROBE_MINUTES} minutes at most`);
});
