// Holds a SecurityGroup's name, and lets the members of the spaces that it applies to read it. controllers/space puts its rules in force.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, securityGroupName } from "../../crds/claim/rules.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace, Role, RoleBinding } from "../../kube/api/builtin.ts";
import { defineController, Stalled, watch } from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { isBoundTo, planGroupReaders } from "./plan.ts";

export const securityGroupController = defineController({
  name: "security-group",
  for: SecurityGroup,
  owns: [Role, RoleBinding],
  reads: [Namespace],
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (group: SecurityGroup) => [claimObjectName(securityGroupName(group))],
  },
  watches: [
    watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
    // The new Space no longer names a group that was unbound, so every group is asked; there are few.
    watch(Space, (_space, read) => listGroupKeys(read)),
    watch(RoleBinding, (binding, read) =>
      binding.metadata.labels?.[LABELS.managedBy] === undefined ? listGroupsOf(binding.metadata.namespace, read) : [],
    ),
  ],

  async reconcile(group, context) {
    if (group.metadata.namespace !== SYSTEM_NAMESPACE)
      throw new Stalled("NotInSystemNamespace", `only a SecurityGroup in namespace ${SYSTEM_NAMESPACE} is in force`);
    const { labels } = resolveGUID(SecurityGroup, group, context);
    await ensureClaim(SecurityGroup.kind, group, securityGroupName(group), context);
    const { read } = context;
    const bound = read.list(Space).filter((space) => isBoundTo(space, group.metadata.name));
    return {
      labels,
      children: planGroupReaders(group, {
        spaces: bound.flatMap(({ status }) => (status?.namespace ? listBindings(status.namespace, read) : [])),
        orgs: [...new Set(bound.map(({ metadata }) => metadata.namespace ?? ""))].flatMap((namespace) =>
          listBindings(namespace, read),
        ),
      }),
    };
  },
});

function listBindings(namespace: string, read: Reader) {
  return read.list(RoleBinding, { namespace });
}

function listGroupKeys(read: Reader): { namespace: string; name: string }[] {
  return read
    .list(SecurityGroup, { namespace: SYSTEM_NAMESPACE })
    .map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
}

/** The groups of the spaces that have this namespace, or whose org has it. */
function listGroupsOf(namespace: string | undefined, read: Reader): { namespace: string; name: string }[] {
  const names = read
    .list(Space)
    .filter((space) => space.metadata.namespace === namespace || space.status?.namespace === namespace)
    .flatMap(({ spec: { securityGroups } }) => [
      ...(securityGroups?.running ?? []),
      ...(securityGroups?.staging ?? []),
    ]);
  return [...new Set(names)].map((name) => ({ namespace: SYSTEM_NAMESPACE, name }));
}
