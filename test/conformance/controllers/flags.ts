// A right that a feature flag gives goes with it, though no controller ran when the flag changed.
import { describe, expect, test } from "vitest";
import { FeatureFlag } from "../../../crds/feature-flag/feature-flag.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ORG_CREATOR } from "../../../crds/roles.ts";
import { ClusterRoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { TestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const flag = { namespace: SYSTEM_NAMESPACE, name: "user-org-creation" };

function set(client: KubeClient, enabled: boolean): Promise<unknown> {
  return client.patch(FeatureFlag, flag, { type: "merge", body: { spec: { enabled } } });
}

async function remake(client: KubeClient): Promise<void> {
  await client.delete(FeatureFlag, flag);
  await client.create(FeatureFlag, { metadata: flag, spec: {} });
}

export function flagTests(testEnv: () => TestEnv): void {
  describe("user_org_creation, changed while no controller runs", () => {
    test.each<[string, (client: KubeClient) => Promise<unknown>]>([
      ["switched off", (client) => set(client, false)],
      ["deleted", (client) => client.delete(FeatureFlag, flag)],
      ["deleted and made anew, off", remake],
    ])("%s: nobody keeps the right", async (_what, change) => {
      const { client } = testEnv();
      const binding = (): Promise<unknown> => client.find(ClusterRoleBinding, { name: ORG_CREATOR });
      if (!(await client.find(FeatureFlag, flag))) await client.create(FeatureFlag, { metadata: flag, spec: {} });
      await set(client, true);
      await eventually(async () => expect(await binding()).toBeDefined());
      await testEnv().without(() => change(client));
      await eventually(async () => expect(await binding()).toBeUndefined());
    });
  });
}
