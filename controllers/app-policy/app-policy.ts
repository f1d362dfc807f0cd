// Says what an AppPolicy does. The controllers of spaces make the NetworkPolicies.
import { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { appKey } from "../shared/app-owned.ts";
import { APP_POLICY_INDEXES, POLICY_APP_INDEX } from "../shared/app-policy-index.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { NETWORK_CONFIG, parseNetworkSettings, readNetworkSettings } from "../shared/network-settings.ts";
import { planAppPolicy } from "./plan.ts";

const ALL_INDEX = "controllers/all-policies";

export const appPolicyController = defineController({
  name: "app-policy",
  for: AppPolicy,
  indexes: {
    [GUID_INDEX]: indexByGUID,
    ...APP_POLICY_INDEXES,
    [ALL_INDEX]: () => ["all"],
  },
  watches: [
    watch(App, ({ metadata }) => ({ [POLICY_APP_INDEX]: appKey(metadata.namespace, metadata.name) })),
    watch(ConfigMap, ({ metadata }) => (metadata.name === NETWORK_CONFIG ? { [ALL_INDEX]: "all" } : []), {
      namespace: SYSTEM_NAMESPACE,
    }),
  ],
  reconcile(policy, context) {
    const { read } = context;
    const { source, destination } = policy.spec;
    const hasApp = (namespace: string | undefined, name: string): boolean =>
      read.find(App, { ...(namespace && { namespace }), name }) !== undefined;
    return {
      labels: resolveGUID(AppPolicy, policy, context).labels,
      ready: planAppPolicy({
        policy,
        hasSource: hasApp(source.namespace, source.app),
        hasDestination: hasApp(policy.metadata.namespace, destination.app),
        isolation: findIsolation(read),
      }),
    };
  },
});

function findIsolation(read: Reader): boolean | undefined {
  try {
    return parseNetworkSettings(readNetworkSettings(read)).isolation;
  } catch {
    return undefined; // The condition of every Space says what is wrong.
  }
}
