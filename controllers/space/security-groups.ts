// The security groups of a space as egress rules of its NetworkPolicies. Pure.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { toCIDRs } from "../../crds/security-group/addresses.ts";
import { destinationsOf, parsePorts } from "../../crds/security-group/rules.ts";
import type { SecurityGroup, SecurityRule } from "../../crds/security-group/security-group.ts";
import type { Space } from "../../crds/space/space.ts";

/** The groups of running apps and of builds, each in order of their names. */
export interface SpaceGroups {
  running: readonly SecurityGroup[];
  staging: readonly SecurityGroup[];
}

/** Those that apply to all spaces, and those that the space names. */
export function selectGroups({ spec }: Pick<Space, "spec">, known: readonly SecurityGroup[]): SpaceGroups {
  const select = (lifecycle: "running" | "staging"): SecurityGroup[] =>
    known
      .filter(
        ({ metadata, spec: group }) =>
          metadata.namespace === SYSTEM_NAMESPACE &&
          !metadata.deletionTimestamp &&
          (group.globallyEnabled[lifecycle] || (spec.securityGroups?.[lifecycle] ?? []).includes(metadata.name)),
      )
      .toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  return { running: select("running"), staging: select("staging") };
}

interface EgressRule {
  to: { ipBlock: { cidr: string } }[];
  ports?: { protocol: string; port: number; endPort?: number }[];
}

/** One egress rule for each rule. A NetworkPolicy knows no ICMP, so rules of that protocol open nothing. */
export function toEgress(groups: readonly SecurityGroup[]): EgressRule[] {
  return groups.flatMap(({ spec }) => spec.rules.flatMap(toEgressRule));
}

function toEgressRule(rule: SecurityRule): EgressRule[] {
  const to = destinationsOf(rule)
    .flatMap(toCIDRs)
    .map((cidr) => ({ ipBlock: { cidr } }));
  if (to.length === 0) return [];
  if (rule.protocol === "all") return [{ to }];
  const ports = rule.protocol === "tcp" || rule.protocol === "udp" ? toPorts(rule.protocol, rule.ports ?? "") : [];
  return ports.length === 0 ? [] : [{ to, ports }];
}

function toPorts(protocol: "tcp" | "udp", ports: string): NonNullable<EgressRule["ports"]> {
  return (parsePorts(ports) ?? []).map(({ from, to }) => ({
    protocol: protocol.toUpperCase(),
    port: from,
    ...(to > from && { endPort: to }),
  }));
}
