// Maintains a Space's namespace, created or adopted, and its members' permissions; on deletion its contents are deleted first.
import { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, spaceName } from "../../crds/claim/rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Space } from "../../crds/space/space.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap, Namespace, NetworkPolicy, Role, RoleBinding } from "../../kube/api/builtin.ts";
import {
  defineController,
  type FinalizeResult,
  NotReady,
  watch,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { NotPermitted } from "../../kube/cache/errors.ts";
import { appKey } from "../shared/app-owned.ts";
import { namespacesOf, POLICY_APP_INDEX, POLICY_SOURCE_INDEX } from "../shared/app-policy-index.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { CLAIMED_NAME_INDEX } from "../shared/claims.ts";
import { deleteAll } from "../shared/history-limits.ts";
import { findBoundRole, isSpaceRoleBinding, planOperationBindings } from "../shared/role-bindings.ts";
import { ensureEffectiveName } from "../shared/effective-name.ts";
import {
  adoptNamespace,
  deleteNamespace,
  finalizeNamespaces,
  findOwnedNamespace,
  ensureNamespace,
  noMirrors,
  toMergePatch,
  type NamespaceMetadata,
  type NamespaceObject,
} from "../shared/owned-namespace.ts";
import { findOrgOfNamespace } from "../shared/tenancy.ts";
import { deleteContents, isDetached, listCachedContents, SPACE_CONTENT_KINDS, listLiveContents } from "./contents.ts";
import { planUnmirroredNote } from "../shared/unmirrored-labels.ts";
import { endSharing } from "./end-sharing.ts";
import { planAppPolicyNetwork } from "./app-policies.ts";
import { planSpaceNetwork } from "./network-policies.ts";
import { NETWORK_CONFIG } from "../../crds/network-config.ts";
import { readNetworkSettings } from "../shared/network-settings.ts";
import { selectGroups } from "./security-groups.ts";
import { checkAdoptionConsent, planSegmentProblem, planSpaceNamespace, planSpacePermissions } from "./plan.ts";

const ORG_NAMESPACE_INDEX = "controllers/org-namespace";
const ALL_SPACES_INDEX = "controllers/all-spaces";
const SECURITY_GROUP_INDEX = "controllers/security-group";

export const spaceController = defineController({
  name: "space",
  for: Space,
  owns: [Role, RoleBinding, NetworkPolicy],
  reads: SPACE_CONTENT_KINDS,
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (space: Space) => [claimObjectName(spaceName(space))],
    [ORG_NAMESPACE_INDEX]: (space: Space) => [space.metadata.namespace ?? ""],
    [ALL_SPACES_INDEX]: () => ["all"],
    [SECURITY_GROUP_INDEX]: ({ spec: { securityGroups } }: Space) => [
      ...new Set([...(securityGroups?.running ?? []), ...(securityGroups?.staging ?? [])]),
    ],
  },
  watches: [
    watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
    watch(Org, (org) => (org.status?.namespace ? { [ORG_NAMESPACE_INDEX]: org.status.namespace } : [])),
    watch(Namespace, (namespace, read) => mapNamespaceToSpaces(namespace, read)),
    watch(RoleBinding, (binding) => (isSpaceRoleBinding(binding) ? { [ALL_SPACES_INDEX]: "all" } : [])),
    watch(RoleBinding, (binding, read) => {
      const namespace = read.find(Namespace, { name: binding.metadata.namespace ?? "" });
      return namespace && binding.metadata.labels?.[LABELS.managedBy] === undefined
        ? mapNamespaceToSpaces(namespace, read)
        : [];
    }),
    watch(ConfigMap, ({ metadata }) => (metadata.name === NETWORK_CONFIG ? { [ALL_SPACES_INDEX]: "all" } : []), {
      namespace: SYSTEM_NAMESPACE,
    }),
    watch(SecurityGroup, (group) => mapGroupToSpaces(group)),
    watch(AppPolicy, (policy, read) => mapPoliciesToSpaces([policy], read)),
    watch(App, ({ metadata }, read) =>
      mapPoliciesToSpaces(read.byIndex(AppPolicy, POLICY_APP_INDEX, appKey(metadata.namespace, metadata.name)), read),
    ),
    ...SPACE_CONTENT_KINDS.map((ref) =>
      watch(ref, (object, read) =>
        // A detached LRP has no finalizer: its first event may be its last.
        object.metadata.deletionTimestamp || isDetached(ref, object)
          ? mapContentToDeletingSpace(object.metadata.namespace ?? "", read)
          : [],
      ),
    ),
  ],

  async reconcile(space, context) {
    const { read } = context;
    const org = findOrgOfNamespace(read, space.metadata.namespace ?? "");
    if (!org)
      throw new NotReady(
        "OrgMissing",
        `namespace ${space.metadata.namespace} is no org's; make the Space in its Org's status.namespace`,
      );
    const { guid, labels } = resolveGUID(Space, space, context);
    const { name, nameTaken } = await ensureEffectiveName(space, spaceName(space), context);
    const meta = planSpaceNamespace(space, org, { guid, name });
    const namespace = await (space.spec.namespace
      ? adoptSpecNamespace(space, org, meta, context)
      : ensureNamespace({ ref: Space, object: space }, [org.metadata.name, space.metadata.name], meta, context));
    const bindings = {
      org: read.list(RoleBinding, { namespace: space.metadata.namespace }),
      space: read.list(RoleBinding, { namespace }),
    };
    const network = planNetwork(space, namespace, read);
    const problem = findMissingPermissions(namespace, read) ?? planSegmentProblem(space, org) ?? network.problem;
    return {
      children: [
        ...planSpacePermissions(space, namespace, bindings),
        ...planOperationBindings(namespace, read.list(RoleBinding, { namespace: SYSTEM_NAMESPACE })),
        ...network.children,
      ],
      labels,
      status: { ...(name !== undefined && { name }), namespace },
      ...planUnmirroredNote("space", space),
      ...nameTaken,
      ...(problem && { ready: problem }),
    };
  },

  finalizer: "cupola.dev/space",
  finalize: (space, context) =>
    finalizeNamespaces(space, (namespace) => finalizeSpaceNamespace(space, namespace, context), context),
});

function planNetwork(space: Space, namespace: string, read: ReadContext["read"]): ReturnType<typeof planSpaceNetwork> {
  return planSpaceNetwork({
    namespace,
    isAdopted: space.spec.namespace !== undefined,
    groups: selectGroups(space, read.list(SecurityGroup, { namespace: SYSTEM_NAMESPACE })),
    settings: readNetworkSettings(read),
    appPolicies: planAppPolicyNetwork({
      namespace,
      policies: listAppPolicies(read, namespace),
      findApp: (at, app) => read.find(App, { namespace: at, name: app }),
    }),
    existing: listOwnPolicies(space, namespace, read),
  });
}

/** A group that applies to all spaces, now or before, concerns each of them. */
function mapGroupToSpaces({ metadata: { name }, spec: { globallyEnabled } }: SecurityGroup): Record<string, string> {
  return globallyEnabled.running || globallyEnabled.staging
    ? { [ALL_SPACES_INDEX]: "all" }
    : { [SECURITY_GROUP_INDEX]: name };
}

/** The Spaces of both sides. */
function mapPoliciesToSpaces(policies: readonly AppPolicy[], read: ReadContext["read"]): ObjectKey[] {
  const names = [...new Set(policies.flatMap(namespacesOf))];
  return names.flatMap((name) => {
    const namespace = read.find(Namespace, { name });
    return namespace ? mapNamespaceToSpaces(namespace, read) : [];
  });
}

/** Those with an app of the namespace on one side, each once. */
function listAppPolicies(read: ReadContext["read"], namespace: string): AppPolicy[] {
  const outgoing = read.byIndex(AppPolicy, POLICY_SOURCE_INDEX, namespace);
  return [
    ...read.list(AppPolicy, { namespace }),
    ...outgoing.filter(({ metadata }) => metadata.namespace !== namespace),
  ];
}

function listOwnPolicies(
  { metadata }: Space,
  namespace: string,
  read: ReconcileContext["read"],
): ObjectOf<typeof NetworkPolicy>[] {
  return read.list(NetworkPolicy, { namespace, labels: { [LABELS.ownerUid]: metadata.uid ?? "" } });
}

async function finalizeSpaceNamespace(
  space: Space,
  namespace: NamespaceObject,
  context: ReconcileContext,
): Promise<FinalizeResult> {
  const { name } = namespace.metadata;
  const cached = listCachedContents(name, context);
  const live = await findOwnedNamespace(space, namespace, context);
  if (!live) return undefined;
  const waiting = await deleteContents(name, cached, context);
  if (waiting) return waiting;
  await endSharing(name, context);
  return space.spec.namespace === name
    ? await finalizeAdoptedNamespace(space, namespace, context)
    : await deleteNamespace(live, context);
}

async function finalizeAdoptedNamespace(
  space: Space,
  namespace: NamespaceObject,
  context: ReconcileContext,
): Promise<FinalizeResult> {
  const { name } = namespace.metadata;
  const contents = await listLiveContents(name, context);
  if (!(await findOwnedNamespace(space, namespace, context))) return undefined;
  const waiting = await deleteContents(name, contents, context);
  if (!waiting) await releaseNamespace(space, namespace, context);
  return waiting;
}

/** Objects that the platform may not read cannot report the missing permission themselves, so the Space does. */
function findMissingPermissions(namespace: string, read: ReadContext["read"]): ReconcileResult["ready"] | undefined {
  const missing = SPACE_CONTENT_KINDS.flatMap((ref) => {
    try {
      read.find(ref, { namespace, name: "-" });
      return [];
    } catch (error) {
      if (error instanceof NotPermitted) return [error];
      throw error;
    }
  });
  const kinds = missing.map(({ resource }) => resource).join(", ");
  return missing.length > 0
    ? {
        status: "False",
        reason: "PermissionMissing",
        message: `this platform may not list and watch ${kinds} in namespace ${namespace}; it goes on by itself when both are granted`,
      }
    : undefined;
}

interface ReadContext {
  read: ReconcileContext["read"];
}

/** The Space that owns or wants to adopt a namespace, and all Spaces of the Org that owns it. */
function mapNamespaceToSpaces(
  namespace: { metadata: { name: string; labels?: Record<string, string> } },
  read: ReadContext["read"],
): { namespace?: string; name: string }[] {
  const owner = namespace.metadata.labels?.[LABELS.ownerUid];
  const own = owner === undefined ? undefined : read.byUid(Space, owner);
  const adopting = own ? [] : read.list(Space).filter((space) => space.spec.namespace === namespace.metadata.name);
  const inOrg =
    namespace.metadata.labels?.[LABELS.namespaceKind] === "space"
      ? []
      : read.byIndex(Space, ORG_NAMESPACE_INDEX, namespace.metadata.name);
  return [...(own ? [own] : []), ...adopting, ...inOrg].map((space) => ({
    namespace: space.metadata.namespace,
    name: space.metadata.name,
  }));
}

/** The Space of a namespace, when it is being deleted and waits for its contents. */
function mapContentToDeletingSpace(
  namespace: string,
  read: ReadContext["read"],
): { namespace?: string; name: string }[] {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  const space = uid === undefined ? undefined : read.byUid(Space, uid);
  return space?.metadata.deletionTimestamp ? [{ namespace: space.metadata.namespace, name: space.metadata.name }] : [];
}

async function adoptSpecNamespace(
  space: Space,
  org: Org,
  meta: NamespaceMetadata,
  context: ReconcileContext,
): Promise<string> {
  const name = space.spec.namespace ?? "";
  const namespace = context.read.find(Namespace, { name });
  if (!namespace)
    throw new NotReady("NamespaceMissing", `namespace ${name} does not exist; it is adopted when it appears`, {
      isFailure: true,
    });
  checkAdoptionConsent(space, org, namespace);
  return await adoptNamespace(
    { ref: Space, object: space },
    namespace,
    { meta, release: () => releaseNamespace(space, namespace, context) },
    context,
  );
}

const NO_PLATFORM_LABELS = Object.fromEntries(
  (["namespaceKind", "space", "org", "spaceName", "orgName", "suspended", "ownerUid"] as const).map((label) => [
    LABELS[label],
    undefined,
  ]),
);

/** Releases an adopted namespace: removes our labels and the roles in the space. */
async function releaseNamespace(space: Space, namespace: NamespaceObject, context: ReconcileContext): Promise<void> {
  const { client, read } = context;
  const { name } = namespace.metadata;
  const roles = read.list(RoleBinding, { namespace: name }).filter((binding) => findBoundRole(binding) !== undefined);
  const live = await findOwnedNamespace(space, namespace, context);
  if (!live) return;
  await deleteAll(client, RoleBinding, roles);
  const removedLabels = toMergePatch({ ...noMirrors(live.metadata.labels), ...NO_PLATFORM_LABELS });
  await client.patch(
    Namespace,
    { name },
    { type: "merge", body: { metadata: { labels: removedLabels, resourceVersion: live.metadata.resourceVersion } } },
  );
}
