// A ClusterBundle on a spoke, with the rights and under the policies of its chart.
import { expect, test } from "vitest";
import { ClusterBundle } from "../../../crds/cluster-bundle/cluster-bundle.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { ConfigMap, Namespace } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";

/** Where the spoke's operator lets the hub keep bundles. */
export const BUNDLES = "monitoring";

/** With a ConfigMap `somebodys` that is not the hub's. */
export async function makeBundleNamespace(spoke: KubeClient): Promise<void> {
  await spoke.create(Namespace, { metadata: { name: BUNDLES } });
  await spoke.create(ConfigMap, { metadata: { name: "somebodys", namespace: BUNDLES } });
}

export interface BundleFixtures {
  hub: KubeClient;
  spoke: KubeClient;
  cluster: string;
}

export function bundleTests(given: () => BundleFixtures): void {
  test("a bundle is in the namespace that the spoke's operator names, and nowhere else", () => keepBundle(given()));
}

async function keepBundle({ hub, spoke, cluster }: BundleFixtures): Promise<void> {
  const manifest = (at: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: base, namespace: ${at} }\ndata: { place: "\${PLACE}" }\n`;
  const [key, there] = [
    { namespace: SYSTEM_NAMESPACE, name: "base" },
    { namespace: BUNDLES, name: "base" },
  ];
  await hub.create(ConfigMap, { metadata: key, data: { "base.yaml": manifest(BUNDLES) } });
  const overrides = [{ cluster, values: { PLACE: "eu" } }];
  const spec = { clusters: { matchLabels: {} }, manifestsFrom: { configMap: "base" }, overrides, deletion: "Delete" };
  await hub.create(ClusterBundle, { metadata: key, spec });
  await eventually(async () =>
    expect(await spoke.get(ConfigMap, there)).toMatchObject({
      data: { place: "eu" },
      metadata: { labels: { [LABELS.hub]: expect.any(String) as string } },
    }),
  );
  await eventually(async () =>
    expect((await hub.get(ClusterBundle, key)).status).toMatchObject({ wanted: 1, applied: 1 }),
  );
  const body = { data: { "base.yaml": manifest("team-b") } };
  await hub.patch(ConfigMap, key, { type: "merge", body });
  await eventually(async () => {
    const { status } = await hub.get(ClusterBundle, key);
    expect(status?.clusters?.[0]?.problem).toContain("hub.bundles.namespaces");
  });
  await hub.delete(ClusterBundle, key);
  await eventually(async () => expect(await spoke.find(ConfigMap, there)).toBeUndefined());
}
