// The contract of a runner (docs/workload-contract.md) as rows, each on LRPs alone: whoever writes a runner runs this on it.
import { afterAll, beforeAll, describe } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { RunnerEnvironment, RunnerFixtures } from "./environment.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { eventually } from "../../eventually.ts";
import { endingRows } from "./rows/ending.ts";
import { environmentRows } from "./rows/environment.ts";
import { healthRows } from "./rows/health.ts";
import { instanceRows } from "./rows/instances.ts";
import { limitRows } from "./rows/limits.ts";
import { refusalRows } from "./rows/refusals.ts";
import { statusRows } from "./rows/status.ts";
import { telemetryRows } from "./rows/telemetry.ts";
import { recordHistory } from "./status-history.ts";

export interface RunnerSuite {
  /** Name of the class, for the titles. */
  name: string;
  start: () => Promise<RunnerEnvironment>;
  /** Why it cannot run here. */
  skip?: string | undefined;
}

export function runnerTests({ name, start, skip }: RunnerSuite): void {
  describe.skipIf(skip)(`runner ${name}${skip ? `: skipped, ${skip}` : ""}`, () => {
    let fixtures: RunnerFixtures | undefined;
    const given = (): RunnerFixtures => {
      if (!fixtures) throw new Error(`runner ${name} has not started`);
      return fixtures;
    };

    beforeAll(async () => {
      const env = await start();
      const history = recordHistory(env.client, env.namespace);
      fixtures = { env, history, capabilities: {} };
      fixtures.capabilities = await eventually(async () => {
        const found = await env.client.get(BackendClass, { name: env.className });
        if (!found.status?.capabilities) throw new Error(`the class ${env.className} has published no capabilities`);
        return found.status.capabilities;
      }, env.patience);
    });
    afterAll(async () => {
      if (!fixtures) return;
      await endAll(fixtures.env).finally(() => fixtures?.env.stop());
      fixtures.history.stop();
    });

    // Rows run five at a time: those that wait longest begin first.
    limitRows(given);
    endingRows(given);
    environmentRows(given);
    instanceRows(given);
    healthRows(given);
    refusalRows(given);
    statusRows(given);
    telemetryRows(given);
  });
}

/** Deletes all LRPs of the suite, and waits until their runner has let them go. */
async function endAll({ client, namespace, patience }: RunnerEnvironment): Promise<void> {
  for (const { metadata } of (await client.list(LRP, { namespace })).items) await client.delete(LRP, metadata);
  await eventually(async () => {
    const left = (await client.list(LRP, { namespace })).items.map(({ metadata }) => metadata.name);
    if (left.length > 0) throw new Error(`LRPs are left: ${left.join(", ")}`);
  }, patience);
}
