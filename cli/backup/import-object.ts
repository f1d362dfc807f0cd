// Writes one exported object to another cluster. A second time it writes nothing that is there.
import { setTimeout as delay } from "node:timers/promises";
import { IMPORT_FIELD_MANAGER, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { originalUidOf } from "../../crds/origin.ts";
import type { Condition, KubeObject, OwnerReference } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, KubeError } from "../../kube/client/errors.ts";
import { Failure } from "../failure.ts";
import type { ExportedObject } from "./archive.ts";
import {
  findExportedKind,
  IN_EACH_INSTALLATION,
  KUBERNETES_KINDS,
  NAMESPACE_OWNERS,
} from "../../crds/exported-kinds.ts";
import { keepKnownPlaces } from "./known-places.ts";
import {
  isImportOf,
  namespaceOf,
  planDraft,
  planStatus,
  requireImportable,
  splitManaged,
  type NamespaceMap,
  type Placed,
} from "./plan-draft.ts";

const WRITE = { fieldManager: IMPORT_FIELD_MANAGER, fieldValidation: "Warn", deadlineMs: 60_000 } as const;
const NAMESPACE_MS = 120_000;

export interface ImportTarget {
  kube: KubeClient;
  /** Grows with each org and space. */
  namespaces: Map<string, string>;
  /** Object names of the orgs; grows with each. */
  orgs: Set<string>;
  /** Called once for each object, and for each entry of one that is left out. */
  count(outcome: Outcome): void;
}

export type Outcome = "created" | "taken over" | "there already" | "left out";

/** Creates the object and its status. Controllers skip it until `releaseObject`. @throws Failure, KubeError */
export async function importObject(target: ImportTarget, object: ExportedObject): Promise<void> {
  requireImportable(object);
  const known = keepKnownPlaces(object, target);
  const placed = known && (await place(target, known.object));
  if (!placed) return target.count("left out");
  for (let entry = 0; entry < known.leftOut; entry += 1) target.count("left out");
  await write(target, known.object, placed);
}

async function write(target: ImportTarget, object: ExportedObject, placed: Placed): Promise<void> {
  const ref = refOf(object);
  const draft = planDraft(object, placed);
  const { found, outcome } = await put(target.kube, ref, { draft, object });
  target.count(outcome);
  if (object.kind === Org.kind) target.orgs.add(object.metadata.name);
  if (found.metadata.annotations?.[ANNOTATIONS.importing] !== undefined)
    await writeStatus(target, ref, { object, found });
}

/** Lets controllers reconcile the object. @throws KubeError */
export async function releaseObject(target: ImportTarget, object: ExportedObject): Promise<void> {
  const { kube, namespaces } = target;
  if (NAMESPACE_OWNERS.has(object.kind) || KUBERNETES_KINDS.has(object.kind)) return;
  const known = keepKnownPlaces(object, target);
  if (!known) return;
  const key = keyOf(known.object, namespaces);
  const ref = refOf(object);
  const found = await kube.find(ref, key);
  if (found?.metadata.annotations?.[ANNOTATIONS.importing] === undefined || !isImportOf(found, object)) return;
  const body = { metadata: { annotations: { [ANNOTATIONS.importing]: null } } };
  await kube.patch(ref, key, { type: "merge", body }, WRITE);
}

/** Waits for the namespace of an Org or a Space, and remembers it. @throws Failure when it does not come */
export async function awaitNamespace(
  target: ImportTarget,
  object: ExportedObject,
  ownNamespace: string | undefined,
): Promise<void> {
  if (!NAMESPACE_OWNERS.has(object.kind) || ownNamespace === undefined) return;
  const key = keyOf(object, target.namespaces);
  const deadline = Date.now() + NAMESPACE_MS;
  for (let pause = 50; ; pause = Math.min(pause * 2, 1_000)) {
    const status = ((await target.kube.get(refOf(object), key))["status"] ?? {}) as NamespaceStatus;
    if (status.namespace !== undefined) return void target.namespaces.set(ownNamespace, status.namespace);
    if (Date.now() > deadline) {
      const ready = status.conditions?.find(({ type }) => type === "Ready");
      throw new Failure(`${describe(object)} got no namespace: ${ready?.message ?? "no controller has answered"}`, {
        next: "cup doctor --cluster; then the same import again, which goes on",
      });
    }
    await delay(pause);
  }
}

interface NamespaceStatus {
  namespace?: string;
  conditions?: Condition[];
}

function refOf({ kind }: ExportedObject): ResourceRef {
  const ref = findExportedKind(kind);
  if (!ref) throw new Error(`no kind ${kind}`);
  return ref;
}

function keyOf(object: ExportedObject, namespaces: NamespaceMap): { namespace?: string; name: string } {
  const namespace = namespaceOf(object, namespaces);
  return { name: object.metadata.name, ...(namespace !== undefined && { namespace }) };
}

function describe({ kind, metadata: { name, namespace } }: ExportedObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

/** Undefined when an owner is not there: what it owned goes with it. */
async function place({ kube, namespaces }: ImportTarget, object: ExportedObject): Promise<Placed | undefined> {
  const namespace = namespaceOf(object, namespaces);
  const owners: Placed["owners"][number][] = [];
  for (const reference of object.metadata.ownerReferences ?? []) {
    const ref = findExportedKind(reference.kind);
    if (!ref) return undefined;
    const owner = await kube.find(ref, { name: reference.name, ...(ref.namespaced && namespace && { namespace }) });
    if (!owner || (originalUidOf(owner) !== reference.uid && owner.metadata.uid !== reference.uid)) return undefined;
    owners.push({
      originalUid: reference.uid,
      reference: { ...reference, uid: owner.metadata.uid ?? "" } as OwnerReference,
    });
  }
  return { namespace, namespaces, owners };
}

interface Wanted {
  draft: Draft;
  object: ExportedObject;
}

interface Put {
  found: KubeObject;
  outcome: Outcome;
}

async function put(kube: KubeClient, ref: ResourceRef, { draft, object }: Wanted): Promise<Put> {
  const key = {
    name: object.metadata.name,
    ...(draft.metadata.namespace !== undefined && { namespace: draft.metadata.namespace }),
  };
  const before = await kube.find(ref, key);
  if (before && !isHalfWritten(before)) return takeOver(kube, ref, { draft, object, before });
  try {
    return { found: await create(kube, ref, draft), outcome: "created" };
  } catch (error) {
    if (!isAlreadyExists(error)) throw explain(error, object);
    return takeOver(kube, ref, { draft, object, before: await kube.get(ref, key) });
  }
}

/** Applies a controller's fields in the controller's name, so that they stay its own; the rest follows. */
async function create(kube: KubeClient, ref: ResourceRef, draft: Draft): Promise<KubeObject> {
  const managed = splitManaged(draft);
  if (!managed) return kube.create(ref, draft, WRITE);
  const { manager, applied, patch } = managed;
  const made = await kube.apply(ref, applied, { ...WRITE, fieldManager: manager, force: true });
  return kube.patch(ref, made.metadata, { type: "merge", body: patch }, WRITE);
}

/** A generated object of which the import wrote only the first half. */
function isHalfWritten({ metadata: { annotations = {} } }: KubeObject): boolean {
  return annotations[ANNOTATIONS.importing] !== undefined && annotations[ANNOTATIONS.originalUid] === undefined;
}

async function takeOver(
  kube: KubeClient,
  ref: ResourceRef,
  { draft, object, before }: Wanted & { before: KubeObject },
): Promise<Put> {
  const isSystemSecret = ref.kind === "Secret" && before.metadata.namespace === SYSTEM_NAMESPACE;
  if (isSystemSecret) {
    const found = await kube.patch(ref, before.metadata, { type: "merge", body: { data: draft["data"] } }, WRITE);
    return { found, outcome: "taken over" };
  }
  if (isImportOf(before, object)) return { found: before, outcome: "there already" };
  const isInstallations = IN_EACH_INSTALLATION.has(ref.kind) && before.metadata.namespace === SYSTEM_NAMESPACE;
  if (!isInstallations || before.metadata.annotations?.[ANNOTATIONS.originalUid] !== undefined)
    throw new Failure(`${describe(object)} exists already, and is not from this export`, {
      next: "import into a platform without orgs, or delete or rename the object",
    });
  const { labels, annotations } = draft.metadata;
  const merged = {
    ...before,
    metadata: {
      ...before.metadata,
      labels: { ...before.metadata.labels, ...labels },
      annotations: { ...before.metadata.annotations, ...annotations },
    },
    spec: draft["spec"],
  };
  const found = await kube.update(ref, merged, WRITE).catch((error: unknown) => {
    throw explain(error, object);
  });
  return { found, outcome: "taken over" };
}

async function writeStatus(
  { kube, namespaces }: ImportTarget,
  ref: ResourceRef,
  { object, found }: { object: ExportedObject; found: KubeObject },
): Promise<void> {
  const status = planStatus(object, { generation: found.metadata.generation }, namespaces);
  if (!status) return;
  const body = { status };
  await kube.patch(ref, found.metadata, { type: "merge", body }, { ...WRITE, subresource: "status" });
}

function explain(error: unknown, object: ExportedObject): unknown {
  if (!(error instanceof KubeError) || error.code === 0 || error.code === 404) return error;
  return new Failure(`${describe(object)} was refused: ${error.message}`, {
    cause: error,
    next:
      error.code === 403
        ? "import with the ClusterRole cupola-restorer, or let the policy that is named allow it for the time of the import"
        : "mend the cause, then the same import again, which goes on",
  });
}
