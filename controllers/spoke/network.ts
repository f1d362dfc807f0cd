// On a spoke: the NetworkPolicies of the namespaces that the hub makes, by the settings of this cluster's operator. The hub has no right to write any there.
import { NETWORK_CONFIG } from "../../crds/network-config.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { ConfigMap, Namespace, NetworkPolicy } from "../../kube/api/builtin.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { readNetworkSettings } from "../shared/network-settings.ts";
import { isOfHub, planNetwork } from "./plan.ts";

export const spokeNetworkController = defineController({
  name: "spoke-network",
  for: Namespace,
  owns: [NetworkPolicy],
  watches: [
    watch(
      ConfigMap,
      (_settings, read) =>
        read
          .list(Namespace)
          .filter(isOfHub)
          .map(({ metadata: { name } }) => ({ name })),
      { namespace: SYSTEM_NAMESPACE, fieldSelector: `metadata.name=${NETWORK_CONFIG}` },
    ),
  ],
  writesStatus: false,
  writesObject: false,

  reconcile(namespace, { read, log }) {
    const { name, uid = "" } = namespace.metadata;
    const existing = read.list(NetworkPolicy, { namespace: name, labels: { [LABELS.ownerUid]: uid } });
    const { children, problem } = planNetwork(namespace, { settings: readNetworkSettings(read), existing });
    if (problem) log.error({ namespace: name, problem: problem.message }, "the network of a space stays as it is");
    return { children };
  },
});
