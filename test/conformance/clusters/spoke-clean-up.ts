// The agent's removal of a hub's leftovers on a spoke, with the rights and under the policies of its chart.
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
import { eventually } from "../../eventually.ts";

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

  const hub = (await spoke.get(Namespace, { name: own })).metadata.labels?.[LABELS.hub] ?? "";
  const labels = { [LABELS.hub]: hub, [LABELS.namespaceKind]: "space" };
  const empty = await spoke.create(Namespace, { metadata: { name: "acme-empty", labels } });
  const lent = await spoke.create(Namespace, {
    metadata: { name: "acme-lent", labels: { ...labels, [LABELS.adoptableBy]: hub } },
  });
  // The agent binds its own right on Secrets there.
  await eventually(() => lookTwice(agent, empty, []));
  await eventually(() => lookTwice(agent, lent, []));
  const left = await spoke.find(Namespace, { name: "acme-empty" });
  expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
  expect((await spoke.get(Namespace, { name: "acme-lent" })).metadata.deletionTimestamp).toBeUndefined();
  await spoke.create(Namespace, { metadata: { name: "acme-team" } });
  for (const name of ["acme-lent", "acme-team"])
    await expect(agent.delete(Namespace, { name })).rejects.toThrow(/hub made/);
}

/** Two looks of the agent, ten minutes after each other. */
async function lookTwice(agent: KubeClient, namespace: KubeObject, lrps: readonly LRP[]): Promise<void> {
  const controller = spokeCleanUpController();
  const read = { list: ({ kind }: ResourceRef) => (kind === LRP.kind ? lrps : []) } as unknown as Reader;
  const log = { info: () => undefined };
  for (const at of [0, UNUSED_MS])
    await controller.reconcile(namespace, {
      read,
      client: agent,
      log,
      now: () => new Date(at),
    } as unknown as ReconcileContext);
}
