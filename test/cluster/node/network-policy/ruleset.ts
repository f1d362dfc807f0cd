// NetworkPolicies as one nftables table, pure: which packets of which pod pass.
import type {
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from "kubernetes-types/networking/v1.js";
import type { LabelSelector } from "kubernetes-types/meta/v1.js";

type Labels = Readonly<Record<string, string>>;

export interface PolicyPod {
  namespace: string;
  labels: Labels;
  /** IPv4. */
  ip: string;
  /** Ports of all its containers. */
  ports: readonly { name?: string; containerPort: number; protocol?: string }[];
}

/** Pods that have an address of their own and have not ended; labels of namespaces by name. */
export interface PolicyView {
  pods: readonly PolicyPod[];
  namespaces: ReadonlyMap<string, Labels>;
  policies: readonly NetworkPolicy[];
}

type Direction = "Ingress" | "Egress";

/** The table, replaced as a whole, for `nft -f`. The same on every node: each judges the packets that pass it. */
export function renderRuleset(view: PolicyView): string {
  const chains = view.pods.flatMap((pod) =>
    (["Ingress", "Egress"] as const).flatMap((direction) => renderChain(view, pod, direction)),
  );
  const jumps = (direction: Direction, address: string) => {
    const entries = chains
      .filter((chain) => chain.direction === direction)
      .map(({ ip, name }) => `${ip} : jump ${name}`);
    return entries.length > 0 ? [`ip ${address} vmap { ${entries.join(", ")} }`] : [];
  };
  const egress = jumps("Egress", "saddr");
  return [
    "add table ip cupola-policies",
    "delete table ip cupola-policies",
    "table ip cupola-policies {",
    ...chains.map(({ name, rules }) => block(name, [...rules, "counter drop"])),
    block("forward", [...baseRules("forward"), ...egress, ...jumps("Ingress", "daddr")]),
    // Packets from pods to their own node. The node's own packets to its pods always pass, as Kubernetes has it: kubelet's probes are among them.
    block("input", [...baseRules("input"), ...egress]),
    "}",
    "",
  ].join("\n");
}

function baseRules(hook: string): string[] {
  return [`type filter hook ${hook} priority filter - 5; policy accept;`, "ct state established,related accept"];
}

function block(name: string, lines: readonly string[]): string {
  return [`chain ${name} {`, ...lines.map((line) => `  ${line}`), "}"].join("\n");
}

/** The chain of a pod in one direction; none where no policy selects it. */
function renderChain(view: PolicyView, pod: PolicyPod, direction: Direction) {
  const policies = view.policies.filter(
    ({ metadata, spec }) =>
      metadata?.namespace === pod.namespace &&
      spec !== undefined &&
      directionsOf(spec).includes(direction) &&
      matches(spec.podSelector, pod.labels),
  );
  if (policies.length === 0) return [];
  const address = direction === "Ingress" ? "ip saddr" : "ip daddr";
  const rules = policies.flatMap(({ spec }) => {
    const allowed =
      direction === "Ingress"
        ? (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
    return allowed.flatMap(({ peers, ports }) =>
      peerMatches(view, peers, pod.namespace, address).flatMap((peer) =>
        portMatches(ports, direction === "Ingress" ? [pod] : view.pods).map((port) =>
          [peer, port, "return"].filter((part) => part !== "").join(" "),
        ),
      ),
    );
  });
  const own = `ip saddr ${pod.ip} ip daddr ${pod.ip} return`;
  const name = `${direction.toLowerCase()}-${pod.ip.replaceAll(".", "-")}`;
  return [{ name, direction, ip: pod.ip, rules: [own, ...new Set(rules)] }];
}

function directionsOf({ policyTypes, egress }: NetworkPolicySpec): readonly string[] {
  return policyTypes ?? (egress ? ["Ingress", "Egress"] : ["Ingress"]);
}

/** A match for each way to be a peer; an empty one for "anybody". */
function peerMatches(
  view: PolicyView,
  peers: readonly NetworkPolicyPeer[] | undefined,
  namespace: string,
  address: string,
): string[] {
  if (!peers || peers.length === 0) return [""];
  const blocks = peers.flatMap(({ ipBlock }) => {
    // This table is of IPv4; the nodes have no other.
    if (!ipBlock || ipBlock.cidr.includes(":")) return [];
    const except = ipBlock.except?.length ? ` ${address} != { ${ipBlock.except.join(", ")} }` : "";
    return [`${address} ${ipBlock.cidr}${except}`];
  });
  const pods = view.pods.filter((pod) => peers.some((peer) => !peer.ipBlock && isPeer(view, peer, pod, namespace)));
  const addresses = [...new Set(pods.map(({ ip }) => ip))];
  return addresses.length > 0 ? [...blocks, `${address} { ${addresses.join(", ")} }`] : blocks;
}

function isPeer(view: PolicyView, peer: NetworkPolicyPeer, pod: PolicyPod, namespace: string): boolean {
  const inNamespace = peer.namespaceSelector
    ? matches(peer.namespaceSelector, view.namespaces.get(pod.namespace) ?? {})
    : pod.namespace === namespace;
  return inNamespace && matches(peer.podSelector, pod.labels);
}

/** A port by name is that of any of `targets` that has it. */
function portMatches(ports: readonly NetworkPolicyPort[] | undefined, targets: readonly PolicyPod[]): string[] {
  if (!ports || ports.length === 0) return [""];
  return ports.flatMap(({ port, endPort, protocol = "TCP" }) => {
    const transport = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${transport}`];
    if (typeof port === "number") return [`${transport} dport ${endPort ? `${port}-${endPort}` : port}`];
    const numbers = targets
      .flatMap((pod) => pod.ports)
      .filter((candidate) => candidate.name === port && (candidate.protocol ?? "TCP") === protocol)
      .map(({ containerPort }) => containerPort);
    return [...new Set(numbers)].map((number) => `${transport} dport ${number}`);
  });
}

/** An absent or empty selector matches everything. */
export function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  const equal = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    (selector?.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "In") return value !== undefined && values.includes(value);
      if (operator === "NotIn") return value === undefined || !values.includes(value);
      return operator === "Exists" ? value !== undefined : value === undefined;
    })
  );
}
