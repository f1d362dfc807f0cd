// Maintains an Org's namespace and its members' permissions; on deletion its spaces are deleted first.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, orgName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { ClusterRole, ClusterRoleBinding, Namespace, Role, RoleBinding } from "../../kube/api/builtin.ts";
import {
  defineController,
  type FinalizeResult,
  watch,
  type ReconcileContext,
} from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { deleteAll } from "../shared/history-limits.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { CLAIMED_NAME_INDEX } from "../shared/claims.ts";
import { ensureEffectiveName } from "../shared/effective-name.ts";
import {
  deleteNamespace,
  finalizeNamespaces,
  findOwnedNamespace,
  ensureNamespace,
  type NamespaceObject,
} from "../shared/owned-namespace.ts";
import { planUnmirroredNote } from "../shared/unmirrored-labels.ts";
import { planCreatorRoles, planOrgNamespace, planOrgPermissions } from "./plan.ts";

const ORG_STATUS_NAMESPACE_INDEX = "controllers/org-status-namespace";

export const orgController = defineController({
  name: "org",
  for: Org,
  owns: [ClusterRole, ClusterRoleBinding, Role, RoleBinding],
  reads: [Space, Domain],
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (org: Org) => [claimObjectName(orgName(org))],
    [ORG_STATUS_NAMESPACE_INDEX]: (org: Org) => (org.status?.namespace ? [org.status.namespace] : []),
  },
  watches: [
    watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
    watch(Namespace, (namespace) => mapLabelsToOrg(namespace.metadata.labels)),
    watch(RoleBinding, (binding, read) =>
      binding.metadata.labels?.[LABELS.managedBy] === undefined
        ? mapLabelsToOrg(read.find(Namespace, { name: binding.metadata.namespace ?? "" })?.metadata.labels)
        : [],
    ),
    // The deletion of an org waits for the deletion of its spaces.
    watch(Space, (space) =>
      space.metadata.deletionTimestamp ? { [ORG_STATUS_NAMESPACE_INDEX]: space.metadata.namespace ?? "" } : [],
    ),
  ],

  async reconcile(org, context) {
    const { guid, labels } = resolveGUID(Org, org, context);
    const { name, nameTaken } = await ensureEffectiveName(org, orgName(org), context);
    const namespace = await ensureNamespace(
      { ref: Org, object: org },
      [org.metadata.name],
      planOrgNamespace(org, guid, name),
      context,
    );
    const bindings = {
      org: context.read.list(RoleBinding, { namespace }),
      spaces: listSpaceBindings(guid, context.read),
    };
    return {
      children: planOrgPermissions(org, namespace, bindings),
      createOnce: planCreatorRoles(org, namespace),
      labels,
      status: { ...(name !== undefined && { name }), namespace },
      ...planUnmirroredNote("org", org),
      ...nameTaken,
    };
  },

  finalizer: "cupola.dev/org",
  async finalize(org, context) {
    const end = async (namespace: NamespaceObject): Promise<FinalizeResult> => {
      const spaces = context.read.list(Space, { namespace: namespace.metadata.name });
      const live = await findOwnedNamespace(org, namespace, context);
      return live && ((await deleteSpaces(spaces, context)) ?? (await deleteNamespace(live, context)));
    };
    const waiting = await finalizeNamespaces(org, end, context);
    if (!waiting) await removeDomainShares(org, context);
    return waiting;
  },
});

function mapLabelsToOrg(labels: Readonly<Record<string, string>> | undefined): Record<string, string> | [] {
  const guid = labels?.[LABELS.org];
  return guid ? { [GUID_INDEX]: guid } : [];
}

function listSpaceBindings(guid: string, read: Reader): ReturnType<typeof listBindings> {
  return read
    .list(Namespace, { labels: { [LABELS.org]: guid } })
    .filter((namespace) => namespace.metadata.labels?.[LABELS.namespaceKind] === "space")
    .flatMap((namespace) => listBindings(namespace.metadata.name, read));
}

function listBindings(namespace: string, read: Reader) {
  return read.list(RoleBinding, { namespace });
}

/** Undefined when none is left. */
async function deleteSpaces(spaces: readonly Space[], { client }: ReconcileContext): Promise<FinalizeResult> {
  await deleteAll(
    client,
    Space,
    spaces.filter((space) => !space.metadata.deletionTimestamp),
  );
  if (spaces.length === 0) return undefined;
  const names = spaces.slice(0, 5).map((space) => space.metadata.name);
  const message = `waiting until ${spaces.length} space(s) are gone: ${names.join(", ")}`;
  return { ready: { status: "False", reason: "SpacesRemain", message } };
}

/** Removes the deleted Org from other orgs' shared Domains, so that a later Org of the same name does not inherit them. Skipped when such an Org already exists. */
async function removeDomainShares({ metadata: { name, uid } }: Org, { read, client }: ReconcileContext): Promise<void> {
  const shared = read.list(Domain, { partial: true }).filter((domain) => domain.spec.sharedOrgs.includes(name));
  if (shared.length > 0 && (await client.find(Org, { name }))?.metadata.uid !== uid) return;
  for (const { metadata, spec } of shared) {
    const sharedOrgs = spec.sharedOrgs.filter((org) => org !== name);
    await client.patch(Domain, metadata, {
      type: "merge",
      body: { metadata: { resourceVersion: metadata.resourceVersion }, spec: { sharedOrgs } },
    });
  }
}
