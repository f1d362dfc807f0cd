// The NetworkPolicies that the agent of a spoke keeps in the namespaces of its hub, with the rights and under the policies of its chart.
import { expect } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { NETWORK_CONFIG } from "../../../crds/network-config.ts";
import { ConfigMap, NetworkPolicy } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";

/** `own`: the namespace of an app of the hub. */
export async function networkTests(spoke: KubeClient, own: string): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name: NETWORK_CONFIG };
  const policies = async (): Promise<[string, string][]> =>
    (await spoke.list(NetworkPolicy, { namespace: own })).items.map(({ metadata, spec }) => [
      metadata.name,
      JSON.stringify(spec?.egress),
    ]);
  const until = (name: string, text: string): Promise<void> =>
    eventually(async () => expect(await policies()).toEqual([[name, expect.stringContaining(text)]]));
  await until("cupola-apps", "169.254.0.0/16");
  await spoke.create(ConfigMap, { metadata: key, data: { "egress-cidrs": "192.0.2.0/24" } });
  await until("cupola-apps", "192.0.2.0/24");
  // Somebody's change is put right.
  await spoke.patch(
    NetworkPolicy,
    { namespace: own, name: "cupola-apps" },
    {
      type: "merge",
      body: { spec: { egress: [{}] } },
    },
  );
  await until("cupola-apps", "192.0.2.0/24");
  await spoke.patch(ConfigMap, key, { type: "merge", body: { data: { isolation: "off" } } });
  await eventually(async () => expect(await policies()).toEqual([]));
  await spoke.delete(ConfigMap, key);
  await until("cupola-apps", "169.254.0.0/16");
}
