// Brings generated RBAC objects into force on a server, and says when its authorizer and its aggregation have seen all of them.
import { isDeepStrictEqual } from "node:util";
import {
  ClusterRole,
  ClusterRoleBinding,
  Namespace,
  Role,
  RoleBinding,
  SubjectAccessReview,
} from "../../../kube/api/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import type { PolicyRule, AccessAttributes, RbacKind, RbacUser } from "../../../kube/rbac/types.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { aggregatedRules } from "../../../local/apiserver/auth/aggregation.ts";
import { NAMESPACES, type Policy, RUN_LABEL } from "./policies.ts";

export const RBAC_REFS: Record<RbacKind, ResourceRef> = { Role, ClusterRole, RoleBinding, ClusterRoleBinding };
const canaryNamespace = "rd-canary";
const parallel = 16;

/** The policies that a server holds of ours, by kind and key. */
export type InForce = Map<string, Policy>;

/** Versions after which a watch has seen everything of a round, by kind. */
export type Versions = Record<RbacKind, string>;

const keyOf = ({ kind, namespace = "", name }: Policy): string => `${kind} ${namespace}/${name}`;

export async function makeNamespaces(client: KubeClient): Promise<void> {
  for (const name of [...NAMESPACES, canaryNamespace]) {
    await client.create(Namespace, { metadata: { name } }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
}

/** Writes only what differs from what is in force, so that objects come, change and go as on a living cluster. */
export async function applyPolicies(client: KubeClient, inForce: InForce, wanted: readonly Policy[]): Promise<void> {
  const target = new Map(wanted.map((one) => [keyOf(one), one]));
  const gone = [...inForce].filter(
    ([key, old]) => !isDeepStrictEqual(target.get(key)?.roleRef, old.roleRef) || !target.has(key),
  );
  await mapLimited(gone, async ([key, old]) => {
    await client.delete(RBAC_REFS[old.kind], keyed(old));
    inForce.delete(key);
  });
  await mapLimited(
    [...target].filter(([key, one]) => !isDeepStrictEqual(inForce.get(key), one)),
    async ([key, one]) => {
      const ref = RBAC_REFS[one.kind];
      await (inForce.has(key) ? client.update(ref, draftOf(one)) : client.create(ref, draftOf(one)));
      inForce.set(key, one);
    },
  );
}

function keyed({ name, namespace }: Policy): { name: string; namespace?: string } {
  return namespace ? { name, namespace } : { name };
}

function draftOf({ kind, name, namespace, rules, aggregates, labels, roleRef, subjects }: Policy): Draft {
  return {
    metadata: { name, ...(namespace && { namespace }), labels: { ...labels, [RUN_LABEL]: "true" } },
    ...(kind.endsWith("Role") ? { rules: rules ?? [] } : { roleRef, subjects }),
    ...(aggregates && { aggregationRule: { clusterRoleSelectors: aggregates } }),
  };
}

/** Waits until every aggregated role has the rules that its selectors choose. */
export async function waitForAggregation(client: KubeClient, deadlineMs: number): Promise<Policy[]> {
  return until(deadlineMs, "aggregated roles did not get their rules", async () => {
    const { items } = await client.list(ClusterRole, { labelSelector: RUN_LABEL });
    const roles = items as unknown as Parameters<typeof aggregatedRules>[1];
    const isAggregated = roles.every(
      (role) =>
        !role.aggregationRule || isDeepStrictEqual(asSet(role.rules ?? []), asSet(aggregatedRules(role, roles))),
    );
    return isAggregated
      ? roles.map((role): Policy => ({ kind: "ClusterRole", name: role.metadata.name, rules: role.rules ?? [] }))
      : undefined;
  });
}

const asSet = (rules: readonly PolicyRule[]): string[] =>
  rules.map((rule) => JSON.stringify(Object.entries(rule).sort())).sort();

/**
 * Changes one object of each kind last, and waits until the authorizer answers by it: each of its watches is in order, so it has seen everything before.
 * Returns the versions of these last writes.
 */
export async function waitForAuthorizer(client: KubeClient, round: string, deadlineMs: number): Promise<Versions> {
  const canaries: Record<RbacKind, Policy> = {
    ClusterRole: {
      kind: "ClusterRole",
      name: "canary",
      rules: [{ verbs: ["get"], nonResourceURLs: [`/canary/${round}`] }],
    },
    ClusterRoleBinding: {
      kind: "ClusterRoleBinding",
      name: "canary",
      roleRef: { kind: "ClusterRole", name: "canary" },
      subjects: [{ kind: "User", name: `canary-${round}` }],
    },
    Role: {
      kind: "Role",
      name: "canary",
      namespace: canaryNamespace,
      rules: [{ verbs: ["get"], apiGroups: [""], resources: [`canary-${round}`] }],
    },
    RoleBinding: {
      kind: "RoleBinding",
      name: "canary",
      namespace: canaryNamespace,
      roleRef: { kind: "Role", name: "canary" },
      subjects: [{ kind: "User", name: `canary-${round}` }],
    },
  };
  const written = await Promise.all(
    Object.values(canaries).map(
      async (one) => [one.kind, (await put(client, one)).metadata.resourceVersion ?? ""] as const,
    ),
  );
  const user = { name: `canary-${round}`, groups: [] };
  const inNamespace: AccessAttributes = {
    verb: "get",
    group: "",
    resource: `canary-${round}`,
    namespace: canaryNamespace,
  };
  await until(deadlineMs, "the authorizer did not see the last change", async () => {
    const seen = await Promise.all([
      isAllowed(client, user, { verb: "get", path: `/canary/${round}` }),
      isAllowed(client, user, inNamespace),
    ]);
    return seen.every(Boolean) || undefined;
  });
  return Object.fromEntries(written) as Versions;
}

async function put(client: KubeClient, policy: Policy): Promise<{ metadata: { resourceVersion?: string } }> {
  const ref = RBAC_REFS[policy.kind];
  try {
    return await client.create(ref, draftOf(policy));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  return client.update(ref, draftOf(policy));
}

/** Verdict of the server's own authorizer. */
export async function isAllowed(
  client: KubeClient,
  { name, groups }: RbacUser,
  question: AccessAttributes,
): Promise<boolean> {
  const attributes = "path" in question ? { nonResourceAttributes: question } : { resourceAttributes: question };
  const { status } = await client.review(SubjectAccessReview, { spec: { user: name, groups, ...attributes } });
  return status?.allowed ?? false;
}

/** Runs work over items, a few at a time. */
export async function mapLimited<T>(
  items: readonly T[],
  task: (item: T, at: number) => Promise<void>,
  width = parallel,
): Promise<void> {
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) await task(item, at);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}

async function until<T>(deadlineMs: number, what: string, check: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`${what} within ${deadlineMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
