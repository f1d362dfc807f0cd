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

/** Address blocks of all groups in one NetworkPolicy: some 300 KB of the 1.5 MB that the API server takes. */
const MAX_BLOCKS = 5000;

/** Rules of a space's groups. */
export interface Egress {
  rules: EgressRule[];
  /** Names of groups that did not fit, and open nothing. */
  leftOut: string[];
}

/** An egress rule for each rule. A NetworkPolicy knows no ICMP, so rules of that protocol open nothing. A group counts whole or, too large, not at all. */
export function toEgress(groups: readonly SecurityGroup[]): Egress {
  const egress: Egress = { rules: [], leftOut: [] };
  let left = MAX_BLOCKS;
  for (const { spec } of groups) {
    const { rules, blocks } = toGroupEgress(spec.rules, left);
    if (blocks > left) {
      egress.leftOut.push(spec.name);
      continue;
    }
    left -= blocks;
    egress.rules.push(...rules);
  }
  return egress;
}

/** Ends as soon as there are more blocks than `most`: one rule may stand for a hundred thousand. */
function toGroupEgress(rules: readonly SecurityRule[], most: number): { rules: EgressRule[]; blocks: number } {
  const found: EgressRule[] = [];
  let blocks = 0;
  for (const rule of rules) {
    const made = toEgressRule(rule, most - blocks);
    blocks += made?.to.length ?? 0;
    if (made) found.push(made);
    if (blocks > most) break;
  }
  return { rules: found, blocks };
}

function toEgressRule(rule: SecurityRule, most: number): EgressRule | undefined {
  const to: EgressRule["to"] = [];
  for (const range of destinationsOf(rule)) {
    if (to.length > most) break;
    for (const cidr of toCIDRs(range)) to.push({ ipBlock: { cidr } });
  }
  if (to.length === 0) return undefined;
  if (rule.protocol === "all") return { to };
  const ports = rule.protocol === "tcp" || rule.protocol === "udp" ? toPorts(rule.protocol, rule.ports ?? "") : [];
  return ports.length === 0 ? undefined : { to, ports };
}

function toPorts(protocol: "tcp" | "udp", ports: string): NonNullable<EgressRule["ports"]> {
  return (parsePorts(ports) ?? []).map(({ from, to }) => ({
    protocol: protocol.toUpperCase(),
    port: from,
    ...(to > from && { endPort: to }),
  }));
}
