// Enforces NetworkPolicies on one node: watches pods, namespaces and policies, and gives nft the table of ruleset.ts. Runs in the node's network.
import { pino } from "pino";
import type { NetworkPolicy as NetworkPolicyType } from "kubernetes-types/networking/v1.js";
import { Namespace, NetworkPolicy, Pod } from "../../../../kube/api/builtin.ts";
import { createInformers } from "../../../../kube/cache/informers.ts";
import { createClient } from "../../../../kube/client/create-client.ts";
import { loadKubeconfig } from "../../../../kube/client/kubeconfig.ts";
import { runProgram } from "../namespaces.ts";
import { coalesceRuns } from "./coalesced-runs.ts";
import { renderRuleset, type PolicyPod } from "./ruleset.ts";

const SETTLE_MS = 20;
const RETRY_MS = 500;

const log = pino({ level: "warn" });
const client = createClient(await loadKubeconfig());
const informers = createInformers({ client, log });
const pods = informers.ensure(Pod).store;
const namespaces = informers.ensure(Namespace).store;
const policies = informers.ensure(NetworkPolicy).store;
let applied = "";

const onChange = coalesceRuns(apply, {
  settleMs: SETTLE_MS,
  retryMs: RETRY_MS,
  onError: (error) => log.error(error, "nft refused the rules"),
});
for (const store of [pods, namespaces, policies]) store.onChange(onChange);
onChange();

async function apply(): Promise<void> {
  // An empty cache must not open what a policy closes.
  if (!(await informers.waitSynced(RETRY_MS))) throw new Error("the caches are not there yet");
  const text = renderRuleset({
    pods: listPods(),
    namespaces: new Map(namespaces.list().map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
    policies: policies.list() as unknown as NetworkPolicyType[],
  });
  if (text === applied) return;
  await runProgram(["nft", "-f", "-"], text);
  applied = text;
}

function listPods(): PolicyPod[] {
  const ended = new Set<string | undefined>(["Succeeded", "Failed"]);
  return pods
    .list()
    .filter(({ spec, status }) => status?.podIP && !spec?.hostNetwork && !ended.has(status.phase))
    .map(({ metadata, spec, status }) => ({
      namespace: metadata.namespace ?? "",
      labels: metadata.labels ?? {},
      ip: status?.podIP ?? "",
      ports: spec?.containers.flatMap(({ ports = [] }) => ports) ?? [],
    }));
}
