// The NetworkPolicies of a space: apps are reached by routers and the kubelet only, and reach routers, DNS and the world outside. Pure.
import { LABELS } from "../../crds/labels.ts";
import { NetworkPolicy } from "../../kube/api/builtin.ts";
import { apiVersionOf, type ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { toEgress, type SpaceGroups } from "./security-groups.ts";
import { parseNetworkSettings, type LabelRequirement, type NetworkSettings } from "../shared/network-settings.ts";

type NetworkPolicyObject = ObjectOf<typeof NetworkPolicy>;

/** Source type of the pods of builds. */
const BUILD = "STG";
const APPS_POLICY = "cupola-apps";
const BUILDS_POLICY = "cupola-builds";

export interface SpaceNetworkInput {
  namespace: string;
  /** Whether the Space adopted the namespace: then only pods of the platform are isolated, since others were there before. */
  isAdopted: boolean;
  /** `data` of the operator's ConfigMap. */
  settings: Readonly<Record<string, string>> | undefined;
  /** The security groups that apply to the space. */
  groups: SpaceGroups;
  /** Those that its AppPolicies make. */
  appPolicies: readonly Draft[];
  /** The policies that the space has: they stay while the settings are wrong. */
  existing: readonly NetworkPolicyObject[];
}

/** The policies, and what is wrong with the settings. Wrong settings change no policy; a space without any gets those of the defaults. */
export function planSpaceNetwork({ settings, existing, appPolicies, ...space }: SpaceNetworkInput): {
  children: Draft[];
  problem?: ReadyDraft;
} {
  const { namespace } = space;
  try {
    const parsed = parseNetworkSettings(settings);
    const problem = parsed.isolation ? findLargeGroups(space.groups) : undefined;
    const children = [...planNetworkPolicies(space, parsed), ...(parsed.isolation ? appPolicies : [])];
    return { children, ...(problem && { problem }) };
  } catch (error) {
    const problem: ReadyDraft = {
      status: "False",
      reason: "NetworkSettingsInvalid",
      message: `ConfigMap cupola-network in namespace cupola-system: ${error instanceof Error ? error.message : String(error)}`,
      isFailure: true,
    };
    const kept = existing.map(({ metadata: { name }, spec }) => toDraft(namespace, name, { ...spec }));
    return {
      children: kept.length > 0 ? kept : planNetworkPolicies(space, parseNetworkSettings()),
      problem,
    };
  }
}

/** Security groups that do not fit into the policies. */
function findLargeGroups({ running, staging }: SpaceGroups): ReadyDraft | undefined {
  const names = [...new Set([running, staging].flatMap((groups) => toEgress(groups).leftOut))];
  if (names.length === 0) return undefined;
  return {
    status: "False",
    reason: "SecurityGroupsTooLarge",
    message: `the security groups of the space have too many address ranges; these open nothing: ${names.join(", ")}; use CIDR ranges, or fewer groups`,
    isFailure: true,
  };
}

/** Empty where the operator turned isolation off. */
export function planNetworkPolicies(
  { namespace, isAdopted, groups }: Pick<SpaceNetworkInput, "namespace" | "isAdopted" | "groups">,
  settings: NetworkSettings,
): Draft[] {
  if (!settings.isolation) return [];
  const { routerNamespaces, routerBlocks, sameSpace, egress, buildEgress } = settings;
  const source = LABELS.sourceType;
  const routers = [
    { namespaceSelector: { matchExpressions: routerNamespaces } },
    ...routerBlocks.map((ipBlock) => ({ ipBlock })),
  ];
  const neighbours = sameSpace ? [{ podSelector: {} }] : [];
  const outside = egress.map((ipBlock) => ({ ipBlock }));
  const ours: LabelRequirement[] = isAdopted ? [{ key: source, operator: "Exists" }] : [];
  return [
    toDraft(namespace, APPS_POLICY, {
      podSelector: { matchExpressions: [{ key: source, operator: "NotIn", values: [BUILD] }, ...ours] },
      policyTypes: ["Ingress", "Egress"],
      // Kubernetes always lets the kubelet of a pod's node through, so probes need no rule.
      ingress: [{ from: [...routers, ...neighbours] }],
      egress: [DNS, { to: [...routers, ...neighbours, ...outside] }, ...toEgress(groups.running).rules],
    }),
    toDraft(namespace, BUILDS_POLICY, {
      podSelector: { matchExpressions: [{ key: source, operator: "In", values: [BUILD] }] },
      policyTypes: ["Ingress", "Egress"],
      egress: [
        DNS,
        { to: [...routers, ...outside, ...buildEgress.map((ipBlock) => ({ ipBlock }))] },
        ...toEgress(groups.staging).rules,
      ],
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

function toDraft(namespace: string, name: string, spec: object): Draft {
  return { apiVersion: apiVersionOf(NetworkPolicy), kind: NetworkPolicy.kind, metadata: { name, namespace }, spec };
}
