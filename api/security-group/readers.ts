// Waits until those to whom a security group applies may read it: its controller grants that by RoleBindings.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { SecurityGroup } from "../../crds/security-group/security-group.ts";
import type { Space } from "../../crds/space/space.ts";
import { Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { Session } from "../access/session.ts";
import { NAMESPACE_READY_TIMEOUT_MS, waitForCache } from "../cache/wait-for-cache.ts";
import { rolesOf } from "../../crds/role-assignments.ts";

const EVERYBODY = "Group system:authenticated";

/** Resolves once every replica knows, or after `NAMESPACE_READY_TIMEOUT_MS`, that everybody, or else the members of `spaces`, may read the group. */
export async function waitForReaders(
  session: Session,
  group: SecurityGroup,
  spaces: readonly Space[] = [],
): Promise<void> {
  // Lists can be cached where RBAC alone decides. Where reviews decide, too, RoleBindings need not say who may read.
  if (!session.canCacheLists) return;
  const { cache } = session;
  const { running, staging } = group.spec.globallyEnabled;
  const isForAll = running || staging;
  const members = isForAll ? [] : spaces.flatMap((space) => listMembers(session, space));
  const isDone = (): boolean => {
    const readers = listReaders(session, group);
    return readers.has(EVERYBODY) === isForAll && members.every((member) => readers.has(member));
  };
  await waitForCache(cache, [Role, RoleBinding], isDone, NAMESPACE_READY_TIMEOUT_MS);
  await session.publishObserved([Role, RoleBinding]);
}

function listMembers({ cache }: Session, { status }: Space): string[] {
  if (status?.namespace === undefined) return [];
  const bindings = cache.store(RoleBinding).list({ namespace: status.namespace });
  return bindings.flatMap(rolesOf).map(({ subject }) => `${subject.kind} ${subject.name}`);
}

/** Subjects of the grant; a RoleBinding may be observed before its Role. */
function listReaders({ cache }: Session, { metadata: { uid } }: SecurityGroup): Set<string> {
  const namespace = SYSTEM_NAMESPACE;
  const grants = cache
    .store(RoleBinding)
    .list({ namespace })
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
    .filter(({ roleRef }) => cache.store(Role).find({ namespace, name: roleRef?.name ?? "" }) !== undefined);
  return new Set(grants.flatMap(({ subjects = [] }) => subjects.map(({ kind, name }) => `${kind} ${name}`)));
}
