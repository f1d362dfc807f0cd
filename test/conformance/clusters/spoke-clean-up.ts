// The agent's removal of Secrets that nothing uses on a spoke, with the rights and under the policies of its chart.
import { expect } from "vitest";
import { spokeCleanUpController } from "../../../controllers/spoke/clean-up.ts";
import { UNUSED_MS } from "../../../controllers/spoke/clean-up-plan.ts";
import { secretsOf } from "../../../controllers/shared/cluster-secrets.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Namespace, Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";

/** `own`: the namespace of an app that has been restarted with other variables. */
export async function cleanUpTests(
  agent: KubeClient,
  { spoke, own }: { spoke: KubeClient; own: string },
): Promise<void> {
  const envSecrets = async (): Promise<string[]> =>
    (await spoke.list(Secret, { namespace: own, labelSelector: LABELS.hub })).items.map(
      ({ metadata }) => metadata.name,
    );
  const lrps = (await spoke.list(LRP, { namespace: own })).items;
  const used = lrps.flatMap((lrp) => secretsOf(lrp as unknown as Draft));
  expect((await envSecrets()).length).toBeGreaterThan(used.length);
  await lookTwice(agent, await spoke.get(Namespace, { name: own }), lrps);
  expect(await envSecrets()).toEqual(used);
  await expect(agent.delete(Namespace, { name: own })).rejects.toThrow(/cannot delete/);
}

/** Two looks of the agent, ten minutes after each other. */
async function lookTwice(agent: KubeClient, namespace: KubeObject, lrps: readonly LRP[]): Promise<void> {
  const controller = spokeCleanUpController();
  const read = { list: ({ kind }: ResourceRef) => (kind === LRP.kind ? lrps : []) } as unknown as Reader;
  for (const at of [0, UNUSED_MS])
    await controller.reconcile(namespace, {
      read,
      client: agent,
      now: () => new Date(at),
    } as unknown as ReconcileContext);
}
