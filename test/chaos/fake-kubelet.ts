// Plays what a node would: every Deployment's pods run at once. Straight at kube-apiserver, so that no fault of the platform's reaches it.
import { pino } from "pino";
import { Deployment } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { runControllers } from "../../kube/controller/run-controllers.ts";
import { createInformers } from "../../kube/cache/informers.ts";
import { CONTROLLER_SETTINGS } from "../../platform/operations/controller-settings.ts";

/** Starts playing; stops with the function that it returns. */
export function startFakeKubelet(kube: KubeClient): () => Promise<void> {
  const log = pino({ level: "silent" });
  const informers = createInformers({ client: kube, log, timing: { backoff: { minMs: 50, maxMs: 300, jitter: 1 } } });
  const halt = new AbortController();
  const kubelet = defineController({
    name: "player",
    for: Deployment,
    writesStatus: false,
    async reconcile(deployment, { client }) {
      const { generation, namespace, name } = deployment.metadata;
      const replicas = deployment.spec?.replicas ?? 0;
      const { status } = deployment;
      if (status?.observedGeneration === generation && (status?.readyReplicas ?? 0) === replicas) return {};
      const body = {
        status: {
          observedGeneration: generation,
          replicas,
          updatedReplicas: replicas,
          readyReplicas: replicas,
          availableReplicas: replicas,
        },
      };
      await client.patch(
        Deployment,
        { namespace: namespace ?? "", name },
        { type: "merge", body },
        { subresource: "status" },
      );
      return {};
    },
  });
  const run = runControllers({
    client: kube,
    controllers: [kubelet],
    informers,
    ownership: CONTROLLER_SETTINGS,
    signal: halt.signal,
    log,
  });
  run.synced.catch(() => undefined);
  return async () => {
    halt.abort();
    await run.stopped;
    await informers.close();
  };
}
