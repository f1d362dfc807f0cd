// The NetworkPolicies of a space's namespace, by the operator's settings: apps are reached by routers and the kubelet only, and reach routers, DNS and the world outside. Pure.
import { LABELS } from "../../crds/labels.ts";
import { NetworkPolicy } from "../../kube/api/builtin.ts";
import { apiVersionOf, type ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import {
  isIsolationOff,
  parseNetworkSettings,
  type LabelRequirement,
  type NetworkSettings,
} from "./network-settings.ts";

/** Source type of the pods of builds. */
const BUILD = "STG";
const APPS_POLICY = "cupola-apps";
const TASKS_POLICY = "cupola-tasks";
const BUILDS_POLICY = "cupola-builds";

export interface SettledNetworkInput {
  namespace: string;
  /** `data` of the operator's ConfigMap. */
  settings: Readonly<Record<string, string>> | undefined;
  /** The policies that the namespace has: they stay while the settings are wrong. */
  existing: readonly ObjectOf<typeof NetworkPolicy>[];
  plan: (settings: NetworkSettings) => Draft[];
}

/** The policies, and what is wrong with the settings. Wrong settings change no policy, and a namespace without any gets those of the defaults; `isolation: off` counts whatever else is wrong. */
export function planBySettings({ namespace, settings, existing, plan }: SettledNetworkInput): {
  children: Draft[];
  problem?: ReadyDraft;
} {
  try {
    return { children: plan(parseNetworkSettings(settings)) };
  } catch (error) {
    const problem: ReadyDraft = {
      status: "False",
      reason: "NetworkSettingsInvalid",
      message: `ConfigMap cupola-network in namespace cupola-system: ${error instanceof Error ? error.message : String(error)}`,
      isFailure: true,
    };
    if (isIsolationOff(settings)) return { children: [], problem };
    const kept = existing.map(({ metadata: { name }, spec }) => toDraft(namespace, name, { ...spec }));
    return { children: kept.length > 0 ? kept : plan(parseNetworkSettings()), problem };
  }
}

interface PolicyPlace {
  namespace: string;
  /** Whether others had the namespace before: then only pods of the platform are isolated. */
  isAdopted: boolean;
  /** Egress rules beside those of the settings. */
  opened: readonly object[];
}

/** The policy of the apps of a space's namespace. Empty where the operator turned isolation off. */
export function planAppsPolicy({ namespace, isAdopted, opened }: PolicyPlace, settings: NetworkSettings): Draft[] {
  if (!settings.isolation) return [];
  const source = LABELS.sourceType;
  const ours: LabelRequirement[] = isAdopted ? [{ key: source, operator: "Exists" }] : [];
  const pods: LabelRequirement[] = [{ key: source, operator: "NotIn", values: [BUILD] }, ...ours];
  return [toDraft(namespace, APPS_POLICY, toAppsSpec(pods, opened, settings))];
}

/** The policies of apps and tasks where a hub writes LRPs and TaskRuns. They select by the labels that runners set themselves: the hub chooses all others. Pods that others run there keep their network. */
export function planWorkloadPolicies(namespace: string, settings: NetworkSettings): Draft[] {
  if (!settings.isolation) return [];
  const selecting = (key: string): object => toAppsSpec([{ key, operator: "Exists" }], [], settings);
  // The requirements of one selector must all hold, and no pod has both labels.
  return [
    toDraft(namespace, APPS_POLICY, selecting(LABELS.lrp)),
    toDraft(namespace, TASKS_POLICY, selecting(LABELS.taskRun)),
  ];
}

function toAppsSpec(
  pods: readonly LabelRequirement[],
  opened: readonly object[],
  settings: NetworkSettings,
): Record<string, unknown> {
  const routers = toRouters(settings);
  const neighbours = settings.sameSpace ? [{ podSelector: {} }] : [];
  return {
    podSelector: { matchExpressions: pods },
    policyTypes: ["Ingress", "Egress"],
    // Kubernetes always lets the kubelet of a pod's node through, so probes need no rule.
    ingress: [{ from: [...routers, ...neighbours] }],
    egress: [DNS, { to: [...routers, ...neighbours, ...toBlocks(settings.egress)] }, ...opened],
  };
}

/** The policy of the builds of a namespace. */
export function planBuildsPolicy(
  { namespace, opened }: Omit<PolicyPlace, "isAdopted">,
  settings: NetworkSettings,
): Draft[] {
  if (!settings.isolation) return [];
  const { egress, buildEgress } = settings;
  return [
    toDraft(namespace, BUILDS_POLICY, {
      podSelector: { matchExpressions: [{ key: LABELS.sourceType, operator: "In", values: [BUILD] }] },
      policyTypes: ["Ingress", "Egress"],
      egress: [DNS, { to: [...toRouters(settings), ...toBlocks([...egress, ...buildEgress])] }, ...opened],
    }),
  ];
}

/** To any resolver: clusters run theirs as pods or on each node. */
const DNS = {
  ports: [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
  ],
};

function toRouters({ routerNamespaces, routerBlocks }: NetworkSettings): object[] {
  return [{ namespaceSelector: { matchExpressions: routerNamespaces } }, ...toBlocks(routerBlocks)];
}

function toBlocks(blocks: readonly object[]): object[] {
  return blocks.map((ipBlock) => ({ ipBlock }));
}

function toDraft(namespace: string, name: string, spec: object): Draft {
  return { apiVersion: apiVersionOf(NetworkPolicy), kind: NetworkPolicy.kind, metadata: { name, namespace }, spec };
}
