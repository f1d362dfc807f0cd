// Says what an AppPolicy does, and deletes one of the CF API whose app is gone. The controllers of spaces make the NetworkPolicies.
import { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import { defineController, type ReconcileContext, watch } from "../../kube/controller/controller.ts";
import { appKey } from "../shared/app-owned.ts";
import { APP_POLICY_INDEXES, POLICY_APP_INDEX } from "../shared/app-policy-index.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { NETWORK_CONFIG } from "../../crds/network-config.ts";
import { parseNetworkSettings, readNetworkSettings } from "../shared/network-settings.ts";
import { isOver, knowsApp, planAppPolicy, planRequeue, planStatus } from "./plan.ts";

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
    watch(App, ({ metadata }, read) => findUnaware(metadata, read)),
    watch(ConfigMap, ({ metadata }) => (metadata.name === NETWORK_CONFIG ? { [ALL_INDEX]: "all" } : []), {
      namespace: SYSTEM_NAMESPACE,
    }),
  ],
  permissions: [{ resource: AppPolicy, verbs: ["delete"] }],

  async reconcile(policy, context) {
    const { read } = context;
    const { source, destination } = policy.spec;
    const keys = [appKey(source.namespace, source.app), appKey(policy.metadata.namespace, destination.app)];
    const input = {
      policy,
      source: findApp(read, source.namespace, source.app),
      destination: findApp(read, policy.metadata.namespace, destination.app),
      others: keys.flatMap((key) => read.byIndex(AppPolicy, POLICY_APP_INDEX, key)),
      isolation: findIsolation(read),
    };
    if (isOver(input)) {
      await remove(policy, context);
      return {};
    }
    const ready = planAppPolicy(input);
    return {
      labels: resolveGUID(AppPolicy, policy, context).labels,
      status: planStatus(input),
      ready,
      ...planRequeue(ready),
    };
  },
});

/** Apps change often, and each change would otherwise concern all policies of the app. */
function findUnaware(app: App["metadata"], read: Reader): AppPolicy["metadata"][] {
  const uid = read.find(App, app)?.metadata.uid;
  return read
    .byIndex(AppPolicy, POLICY_APP_INDEX, appKey(app.namespace, app.name))
    .filter((policy) => !knowsApp(policy, app, uid))
    .map(({ metadata }) => metadata);
}

/** Throws where the namespace cannot be read: an app that cannot be seen is not gone. */
function findApp(read: Reader, namespace = "", name: string): App | undefined {
  return read.list(App, { namespace }).find(({ metadata }) => metadata.name === name);
}

async function remove({ metadata }: AppPolicy, { client }: Pick<ReconcileContext, "client">): Promise<void> {
  await ignoreGone(client.delete(AppPolicy, metadata, { preconditions: { uid: metadata.uid ?? "" } }));
}

function findIsolation(read: Reader): boolean | undefined {
  try {
    return parseNetworkSettings(readNetworkSettings(read)).isolation;
  } catch {
    return undefined; // The condition of every Space says what is wrong.
  }
}
