// The NetworkPolicies of a Space: its network by the operator's settings, its security groups and its AppPolicies. Pure.
import type { NetworkPolicy } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { planAppsPolicy, planBuildsPolicy, planBySettings } from "../shared/network-policies.ts";
import { toEgress, type SpaceGroups } from "./security-groups.ts";

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
  existing: readonly ObjectOf<typeof NetworkPolicy>[];
}

/** The policies, and what is wrong with the settings or with the groups. */
export function planSpaceNetwork({
  namespace,
  isAdopted,
  settings,
  groups,
  appPolicies,
  existing,
}: SpaceNetworkInput): {
  children: Draft[];
  problem?: ReadyDraft;
} {
  const [running, staging] = [toEgress(groups.running), toEgress(groups.staging)];
  let isIsolated = false;
  const { children, problem } = planBySettings({
    namespace,
    settings,
    existing,
    plan(parsed) {
      isIsolated = parsed.isolation;
      return [
        ...planAppsPolicy({ namespace, isAdopted, opened: running.rules }, parsed),
        ...planBuildsPolicy({ namespace, opened: staging.rules }, parsed),
        ...(parsed.isolation ? appPolicies : []),
      ];
    },
  });
  const found = problem ?? (isIsolated ? toLargeGroups([...running.leftOut, ...staging.leftOut]) : undefined);
  return { children, ...(found && { problem: found }) };
}

/** Security groups that do not fit into the policies. */
function toLargeGroups(leftOut: readonly string[]): ReadyDraft | undefined {
  const names = [...new Set(leftOut)];
  if (names.length === 0) return undefined;
  return {
    status: "False",
    reason: "SecurityGroupsTooLarge",
    message: `the security groups of the space have too many address ranges; these open nothing: ${names.join(", ")}; use CIDR ranges, or fewer groups`,
    isFailure: true,
  };
}
