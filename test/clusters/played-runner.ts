// Plays the runner of a cluster: each LRP's instances run as soon as it is seen, and end with it. It remembers the LRPs that ended.
import { pino } from "pino";
import { LRP } from "../../crds/lrp/lrp.ts";
import { wantedIndexes } from "../../crds/lrp/index-pool.ts";
import { createInformers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { runControllers } from "../../kube/controller/run-controllers.ts";
import { CONTROLLER_SETTINGS } from "../../platform/operations/controller-settings.ts";

export interface PlayedRunner {
  /** Revisions whose instances crash, by app and version: `shop 2`. */
  crashing: Set<string>;
  stop(): Promise<void>;
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export async function playRunner(client: KubeClient): Promise<PlayedRunner> {
  const crashing = new Set<string>();
  const runner = defineController({
    name: "played-runner",
    for: LRP,
    finalizer: "test.cupola.dev/runner",
    finalize: () => undefined,
    reconcile({ spec, status }: LRP) {
      const isCrashing = crashing.has(`${spec.app.name} ${spec.revision}`);
      const instances = wantedIndexes(spec).map((index) => ({
        index,
        state: isCrashing ? "Crashed" : "Running",
        ready: !isCrashing,
        guid: status?.instances?.find((one) => one.index === index)?.guid ?? crypto.randomUUID(),
      }));
      return { status: { instances, runningInstances: isCrashing ? 0 : instances.length } };
    },
  });
  const informers = createInformers({ client, log });
  const stopping = new AbortController();
  const running = runControllers({
    client,
    controllers: [runner],
    informers,
    ownership: CONTROLLER_SETTINGS,
    signal: stopping.signal,
    log,
  });
  await running.synced;
  return {
    crashing,
    async stop() {
      stopping.abort();
      await running.stopped;
      await informers.close();
    },
  };
}
