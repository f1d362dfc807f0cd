// The namespaces in which the platform watches a kind that it may not watch in all namespaces: those of orgs and spaces, and its own.
import type { NamespaceScope } from "../kube/cache/scoped/watched-namespaces.ts";
import { resourceId, type ResourceRef } from "../kube/api/resource-ref.ts";
import { DEFINITIONS } from "../crds/definitions.ts";
import type { NamespaceKind } from "../crds/kind.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { LABELS } from "../crds/labels.ts";
import { HTTPRoute } from "../backends/routers/gateway/gateway-routes.ts";
import { ReferenceGrant } from "../backends/routers/gateway/reference-grants.ts";
import {
  Deployment,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  StatefulSet,
} from "../kube/api/builtin.ts";

/** Kinds of others that are made in spaces alone. */
const FOREIGN_IN_SPACES: readonly ResourceRef[] = [
  Deployment,
  StatefulSet,
  Job,
  Service,
  PodDisruptionBudget,
  Ingress,
  HTTPRoute,
  ReferenceGrant,
  NetworkPolicy,
];

/** The namespaces that can hold a kind; kinds not listed here can be in any. */
const NAMESPACE_KINDS = new Map<string, readonly NamespaceKind[]>([
  ...FOREIGN_IN_SPACES.map((ref): [string, readonly NamespaceKind[]] => [resourceId(ref), ["space"]]),
  ...DEFINITIONS.flatMap((ref): [string, readonly NamespaceKind[]][] =>
    ref.livesIn ? [[resourceId(ref), ref.livesIn]] : [],
  ),
]);

/** A label marks the namespaces of orgs and spaces, so the platform needs permission to watch Namespaces. */
export const PLATFORM_NAMESPACES: NamespaceScope = {
  labelSelector: LABELS.namespaceKind,
  always: [SYSTEM_NAMESPACE],
  canHold: (ref, labels) => {
    const namespaceKind = labels?.[LABELS.namespaceKind] ?? "system";
    return NAMESPACE_KINDS.get(resourceId(ref))?.includes(namespaceKind as NamespaceKind) ?? true;
  },
};
