// The NetworkPolicies of AppPolicies: ingress for each destination app of a space, egress for each source app. They only add. Pure.
import type { App } from "../../crds/app/app.ts";
import type { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { compareAge, isMeant, MAX_POLICIES_OF_APP } from "../../crds/app-policy/rules.ts";
import { guidOf } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { generatedName } from "../../crds/object-names.ts";
import { NetworkPolicy } from "../../kube/api/builtin.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";

export interface AppPoliciesInput {
  namespace: string;
  /** All that have an app of this namespace on one side. */
  policies: readonly AppPolicy[];
  findApp(namespace: string, name: string): App | undefined;
}

/** A policy whose apps exist. */
interface Side {
  own: App;
  direction: "ingress" | "egress";
  rule: object;
}

/** The oldest first, so that the same policies give the same objects. */
export function planAppPolicyNetwork({ namespace, policies, findApp }: AppPoliciesInput): Draft[] {
  const sides = policies.toSorted(compareAge).flatMap((policy) => toSides(policy, namespace, findApp));
  const groups = Map.groupBy(sides, ({ own, direction }) => `${direction} ${own.metadata.name}`);
  return [...groups.values()].map((group) => toDraft(namespace, group));
}

function toSides(policy: AppPolicy, namespace: string, findApp: AppPoliciesInput["findApp"]): Side[] {
  const { source, destination, protocol, ports } = policy.spec;
  if (policy.metadata.deletionTimestamp) return [];
  const into = policy.metadata.namespace ?? "";
  const [from, to] = [findApp(source.namespace, source.app), findApp(into, destination.app)];
  if (!from || !to || !isMeant(policy, "source", from) || !isMeant(policy, "destination", to)) return [];
  const opened = [{ protocol: protocol.toUpperCase(), port: ports.start, endPort: ports.end }];
  return [
    ...(into === namespace
      ? [{ own: to, direction: "ingress" as const, rule: { from: [toPeer(source.namespace, from)], ports: opened } }]
      : []),
    ...(source.namespace === namespace
      ? [{ own: from, direction: "egress" as const, rule: { to: [toPeer(into, to)], ports: opened } }]
      : []),
  ];
}

/** By the namespace's own name, a label that Kubernetes keeps: a copied GUID label in another namespace opens nothing. */
function toPeer(namespace: string, app: App): object {
  return {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    podSelector: selectorOf(app),
  };
}

function selectorOf(app: App): object {
  return { matchLabels: { [LABELS.app]: guidOf(app) } };
}

function toDraft(namespace: string, sides: readonly Side[]): Draft {
  const [{ own, direction } = { own: undefined, direction: "ingress" as const }] = sides;
  const name = generatedName(
    `cupola-${direction}-${own?.metadata.name ?? ""}`,
    `${direction}/${own?.metadata.uid ?? ""}`,
  );
  return {
    apiVersion: apiVersionOf(NetworkPolicy),
    kind: NetworkPolicy.kind,
    metadata: { name, namespace },
    spec: {
      podSelector: own ? selectorOf(own) : {},
      policyTypes: [direction === "ingress" ? "Ingress" : "Egress"],
      [direction]: sides.slice(0, MAX_POLICIES_OF_APP).map(({ rule }) => rule),
    },
  };
}
