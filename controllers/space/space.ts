// Keeps a Space's namespace, made or adopted, and the rights of those inside; at its end, its objects go first.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, spaceName } from "../../crds/claim/rules.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace, Role, RoleBinding } from "../../kube/api/builtin.ts";
import { defineController, NotReady, watch, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import { NotPermitted } from "../../kube/cache/reader.ts";
import { byGUID, CLAIM_INDEX, GUID_INDEX, settleGUID } from "../shared/identity.ts";
import { removeAll } from "../shared/history-limits.ts";
import { roleOfBinding } from "../shared/role-bindings.ts";
import { settleName } from "../shared/effective-name.ts";
import { adoptNamespace, endNamespace, endNamespaces, findOwned, keepNamespace, type NamespaceMeta, type NamespaceObject } from "../shared/owned-namespace.ts";
import { findOrg } from "../shared/tenancy.ts";
import { endContents, seenContents, SPACE_CONTENTS, storedContents } from "./contents.ts";
import { checkConsent, planSpaceNamespace, planSpaceRights } from "./plan.ts";

const HOME_INDEX = "space/home";

export const spaceController = defineController({
  name: "space",
  for: Space,
  owns: [Role, RoleBinding],
  reads: SPACE_CONTENTS,
  indexes: {
    [GUID_INDEX]: byGUID,
    [CLAIM_INDEX]: (space: Space) => [claimObjectName(spaceName(space))],
    [HOME_INDEX]: (space: Space) => [space.metadata.namespace ?? ""],
  },
  watches: [
    watch(Claim, (claim) => ({ [CLAIM_INDEX]: claim.metadata.name })),
    watch(Org, (org) => (org.status?.namespace ? { [HOME_INDEX]: org.status.namespace } : [])),
    watch(Namespace, (namespace, read) => spacesOfNamespace(namespace, read)),
    watch(RoleBinding, (binding, read) => {
      const namespace = read.find(Namespace, { name: binding.metadata.namespace ?? "" });
      return namespace && binding.metadata.labels?.[LABELS.managedBy] === undefined ? spacesOfNamespace(namespace, read) : [];
    }),
    ...SPACE_CONTENTS.map((ref) => watch(ref, (object, read) => (object.metadata.deletionTimestamp ? going(object.metadata.namespace ?? "", read) : []))),
  ],

  async reconcile(space, context) {
    const { read } = context;
    const org = findOrg(read, space.metadata.namespace ?? "");
    if (!org) throw new NotReady("OrgMissing", `namespace ${space.metadata.namespace} is no org's; make the Space in its Org's status.namespace`);
    const { guid, labels } = settleGUID(Space, space, context);
    const { name, refusal } = await settleName(space, spaceName(space), context);
    const meta = planSpaceNamespace(space, org, { guid, name });
    const namespace = await (space.spec.namespace ? adopt(space, org, meta, context) : keepNamespace({ ref: Space, object: space }, [org.metadata.name, space.metadata.name], meta, context));
    const bindings = { org: read.list(RoleBinding, { namespace: space.metadata.namespace }), space: read.list(RoleBinding, { namespace }) };
    const blind = findBlind(namespace, read);
    return { children: planSpaceRights(space, namespace, bindings), labels, status: { ...(name !== undefined && { name }), namespace }, ...refusal, ...(blind && { ready: blind }) };
  },

  finalizer: "cupola.dev/space",
  async finalize(space, context) {
    await endNamespaces(space, (namespace) => end(space, namespace, context), context);
  },
});

async function end(space: Space, namespace: NamespaceObject, context: ReconcileContext): Promise<void> {
  const { name } = namespace.metadata;
  const seen = seenContents(name, context);
  const live = await findOwned(space, namespace, context);
  if (!live) return;
  await endContents(name, seen, context);
  if (space.spec.namespace !== name) return await endNamespace(live, context);
  const stored = await storedContents(name, context);
  if (!(await findOwned(space, namespace, context))) return;
  await endContents(name, stored, context);
  await release(space, namespace, context);
}

/** What is in the namespace can say nothing for itself when the platform may not see it, so the Space does. */
function findBlind(namespace: string, read: Read["read"]): ReconcileResult["ready"] | undefined {
  const missing = SPACE_CONTENTS.flatMap((ref) => {
    try {
      read.find(ref, { namespace, name: "-" });
      return [];
    } catch (error) {
      if (error instanceof NotPermitted) return [error];
      throw error;
    }
  });
  const kinds = missing.map(({ resource }) => resource).join(", ");
  return missing.length > 0 ? { status: "False", reason: "PermissionMissing", message: `this platform may not list and watch ${kinds} in namespace ${namespace}; it goes on by itself when both are granted` } : undefined;
}

interface Read {
  read: ReconcileContext["read"];
}

/** Both the Space that owns a namespace, or wants to, and all Spaces whose Org owns it. */
function spacesOfNamespace(namespace: { metadata: { name: string; labels?: Record<string, string> } }, read: Read["read"]): { namespace?: string; name: string }[] {
  const owner = namespace.metadata.labels?.[LABELS.ownerUid];
  const own = owner === undefined ? undefined : read.byUid(Space, owner);
  const wanting = own ? [] : read.list(Space).filter((space) => space.spec.namespace === namespace.metadata.name);
  const inOrg = namespace.metadata.labels?.[LABELS.namespaceKind] === "space" ? [] : read.byIndex(Space, HOME_INDEX, namespace.metadata.name);
  return [...(own ? [own] : []), ...wanting, ...inOrg].map((space) => ({ namespace: space.metadata.namespace, name: space.metadata.name }));
}

/** The Space of a namespace, when it is being deleted and waits for its contents. */
function going(namespace: string, read: Read["read"]): { namespace?: string; name: string }[] {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  const space = uid === undefined ? undefined : read.byUid(Space, uid);
  return space?.metadata.deletionTimestamp ? [{ namespace: space.metadata.namespace, name: space.metadata.name }] : [];
}

async function adopt(space: Space, org: Org, meta: NamespaceMeta, context: ReconcileContext): Promise<string> {
  const name = space.spec.namespace ?? "";
  const namespace = context.read.find(Namespace, { name });
  if (!namespace) throw new NotReady("NamespaceMissing", `namespace ${name} does not exist; it is adopted when it appears`);
  checkConsent(space, org, namespace);
  return await adoptNamespace({ ref: Space, object: space }, namespace, { meta, release: () => release(space, namespace, context) }, context);
}

/** Gives an adopted namespace back: it loses what made it ours, the roles in the space among it. */
async function release(space: Space, namespace: NamespaceObject, context: ReconcileContext): Promise<void> {
  const { client, read } = context;
  const { name } = namespace.metadata;
  const roles = read.list(RoleBinding, { namespace: name }).filter((binding) => roleOfBinding(binding) !== undefined);
  const live = await findOwned(space, namespace, context);
  if (!live) return;
  await removeAll(client, RoleBinding, roles);
  const gone = Object.fromEntries([LABELS.namespaceKind, LABELS.space, LABELS.org, LABELS.suspended, LABELS.ownerUid].map((label) => [label, null]));
  await client.patch(Namespace, { name }, { type: "merge", body: { metadata: { labels: gone, resourceVersion: live.metadata.resourceVersion } } });
}
