// The NetworkPolicies that the agent of a spoke keeps in the namespaces of its hub, with the rights and under the policies of its chart.
import { expect } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { NETWORK_CONFIG } from "../../../crds/network-config.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { ConfigMap, Deployment, NetworkPolicy } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";
import { hubLRP } from "./hub-attempts.ts";

/** `own`: the namespace of an app of the hub. */
export async function networkTests(spoke: KubeClient, own: string): Promise<void> {
  await settingsTests(spoke, own);
  await disguiseTests(spoke, own);
}

async function settingsTests(spoke: KubeClient, own: string): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name: NETWORK_CONFIG };
  const policies = async (): Promise<[string, string][]> =>
    (await spoke.list(NetworkPolicy, { namespace: own })).items.map(({ metadata, spec }) => [
      metadata.name,
      JSON.stringify(spec?.egress),
    ]);
  const until = (text: string): Promise<void> =>
    eventually(async () =>
      expect(await policies()).toEqual([
        ["cupola-apps", expect.stringContaining(text)],
        ["cupola-tasks", expect.stringContaining(text)],
      ]),
    );
  await until("169.254.0.0/16");
  await spoke.create(ConfigMap, { metadata: key, data: { "egress-cidrs": "192.0.2.0/24" } });
  await until("192.0.2.0/24");
  // Somebody's change is put right.
  await spoke.patch(
    NetworkPolicy,
    { namespace: own, name: "cupola-apps" },
    {
      type: "merge",
      body: { spec: { egress: [{}] } },
    },
  );
  await until("192.0.2.0/24");
  // A mistake in another setting keeps it on no more than off.
  await spoke.patch(ConfigMap, key, { type: "merge", body: { data: { isolation: "off", "egress-cidr": "" } } });
  await eventually(async () => expect(await policies()).toEqual([]));
  await spoke.delete(ConfigMap, key);
  await until("169.254.0.0/16");
}

/** The hub chooses all labels of an LRP: the runner sets the one by which its pods are isolated. */
async function disguiseTests(spoke: KubeClient, own: string): Promise<void> {
  const name = "disguised";
  const lrp = hubLRP("", { metadata: { name, namespace: own, labels: { [LABELS.sourceType]: "STG" } } }) as LRP;
  await spoke.create(LRP, lrp);
  const labels = await eventually(async () => {
    const deployments = (await spoke.list(Deployment, { namespace: own })).items;
    const made = deployments.find(({ metadata }) => metadata.labels?.[LABELS.lrp] === name);
    expect(made).toBeDefined();
    return made?.spec?.template.metadata?.labels ?? {};
  });
  expect(labels).toMatchObject({ [LABELS.sourceType]: "STG", [LABELS.lrp]: name });
  const { spec } = await spoke.get(NetworkPolicy, { namespace: own, name: "cupola-apps" });
  expect(spec?.podSelector).toEqual({ matchExpressions: [{ key: LABELS.lrp, operator: "Exists" }] });
  await spoke.delete(LRP, { namespace: own, name });
}
