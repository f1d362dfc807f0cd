// Audit events of writes past the CF API (kubectl, GitOps tools), on the leader only, in the words of the API's own.
import type { Logger } from "pino";
import { toAuditEvents, type AuditContext, type PlacedEvent } from "../../api/cf/audit/to-audit-events.ts";
import { redact } from "../../api/cf/audit/redact-request.ts";
import { planOutsideCreate, planOutsidePatch, type OutsideWrite } from "../../controllers/audit-log/outside-writes.ts";
import { AuditLog } from "../../crds/audit-log/audit-log.ts";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change, Reader } from "../../kube/cache/reader.ts";
import { retryUnreadable } from "./retry-unreadable.ts";
import type { SeenChange } from "./recent-changes.ts";

/** Kinds whose writes are recorded. */
export const OUTSIDE_WRITTEN_KINDS: readonly ResourceRef[] = DEFINITIONS.filter(
  ({ audit }) => audit?.outsideWrites !== undefined,
);
/** Kinds whose deletion is recorded. Controllers and the garbage collector delete the others, too. */
const DELETED_KINDS: ReadonlySet<string> = new Set(
  DEFINITIONS.filter(({ audit }) => audit?.outsideWrites === "changes and deletions").map(({ kind }) => kind),
);
export const OUTSIDE_AUDIT_KINDS: readonly ResourceRef[] = [...OUTSIDE_WRITTEN_KINDS, Revision, AuditLog, Namespace];

/** Milliseconds after which the API has written its event of a deletion, if it was the API's. */
const DELETION_WAIT_MS = 5_000;
/** Age of an event that may be that of a deletion, milliseconds. */
const DELETION_WINDOW_MS = 30_000;
/** A deletion names nobody. */
const UNKNOWN_MANAGER = "kubectl";

interface OutsideAuditOptions {
  informers: Pick<Informers, "read">;
  log: Logger;
  /** `at` says when the change was seen. */
  record: (placed: PlacedEvent, at: Date) => void;
  now?: () => Date;
  deletionWaitMs?: number;
}

export interface OutsideAudit {
  /** Records the events of a change. @throws NotSynced, NotPermitted */
  see(seen: SeenChange): void;
  /** Deletions that wait are left to the next leader. */
  stop(): void;
}

export function startOutsideAudit(options: OutsideAuditOptions): OutsideAudit {
  const { informers, log, record, now = () => new Date(), deletionWaitMs = DELETION_WAIT_MS } = options;
  const timers = new Set<NodeJS.Timeout>();
  const recordWrite = ({ ref, change, at }: SeenChange, { verb, object, changes, manager }: OutsideWrite): void => {
    const spec = (object as { spec?: object }).spec ?? {};
    const context: AuditContext = {
      cache: auditCacheOf(informers.read),
      actor: toActor(manager),
      now: at,
      identity: change.object.metadata.resourceVersion ?? "",
      request: redact(verb === "create" ? spec : changes),
    };
    for (const one of toAuditEvents({ verb, ref, object, changes }, context)) record(one, at);
  };
  // Its time is later than that of an event of the API, which lists show before it.
  const recordDeletion = ({ ref, change: { object }, at }: SeenChange): void => {
    if (isTenantGone(informers.read, object) || isRecorded(informers.read, object, at)) return;
    const context: AuditContext = { cache: auditCacheOf(informers.read), actor: UNKNOWN_MANAGER, now: now() };
    for (const one of toAuditEvents({ verb: "delete", ref, object }, context)) record(one, at);
  };
  const deletions = retryUnreadable(log, recordDeletion);
  return {
    see(seen) {
      if (!OUTSIDE_WRITTEN_KINDS.some(({ kind }) => kind === seen.ref.kind)) return;
      const write = planWrite(seen.change);
      if (write) recordWrite(seen, write);
      if (!isUserDeletion(seen.ref, seen.change)) return;
      const due = seen.at.getTime() + deletionWaitMs - now().getTime();
      const timer = setTimeout(() => timers.delete(timer) && deletions.handle(seen), due).unref();
      timers.add(timer);
    },
    stop() {
      deletions.stop();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Whether `see` may make an event of the change. */
export function isOutsideChange({ ref, change }: SeenChange): boolean {
  if (!OUTSIDE_WRITTEN_KINDS.some(({ kind }) => kind === ref.kind)) return false;
  return isUserDeletion(ref, change) || planWrite(change) !== undefined;
}

function planWrite(change: Change<KubeObject>): OutsideWrite | undefined {
  if (change.type === "added") return planOutsideCreate(change.object);
  return change.type === "modified" ? planOutsidePatch(change.old, change.object) : undefined;
}

/** An object with finalizers is first marked, then gone. */
function isDeletion(change: Change<KubeObject>): boolean {
  if (change.type === "added" || change.old.metadata.deletionTimestamp) return false;
  return change.type === "deleted" || change.object.metadata.deletionTimestamp !== undefined;
}

/** Whoever writes chooses the manager's name, so it must not read as a user's. */
function toActor(manager: string): string {
  return `field manager ${manager}`;
}

/** A deletion that a user may have asked for: the platform removes a Buildpack that its builder image has no more. */
function isUserDeletion({ kind }: ResourceRef, change: Change<KubeObject>): boolean {
  const isOfImage = kind === Buildpack.kind && (change.object as Buildpack).spec.builder !== undefined;
  return DELETED_KINDS.has(kind) && !isOfImage && isDeletion(change);
}

/** Everything in a space or org under deletion is deleted by controllers. */
function isTenantGone(read: Reader, { metadata: { namespace } }: KubeObject): boolean {
  if (namespace === undefined) return false;
  const space = findOwner(read, Space, namespace);
  const orgNamespace = space ? space.metadata.namespace : namespace;
  const org = findOwner(read, Org, orgNamespace);
  const found = read.find(Namespace, { name: namespace });
  return [found, space, org].some((one) => one?.metadata.deletionTimestamp !== undefined) || !found;
}

/** Whether the API has recorded the deletion, or a move to another space. */
function isRecorded(read: Reader, object: KubeObject, at: Date): boolean {
  const since = new Date(at.getTime() - DELETION_WINDOW_MS).toISOString();
  const namespace = object.metadata.namespace ?? SYSTEM_NAMESPACE;
  const guid = guidOf(object);
  return read
    .list(AuditLog, { namespace })
    .some(({ spec }) =>
      spec.events.some(
        (event) =>
          event.at >= since &&
          event.target.guid === guid &&
          /\.(?:delete|delete-request|transfer-owner)$/.test(event.type),
      ),
    );
}

function findOwner<T extends KubeObject>(read: Reader, ref: ResourceRef<T>, namespace = ""): T | undefined {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  return uid === undefined ? undefined : read.byUid(ref, uid);
}

/** Reads that audit events need of the API's cache, from the watches of the controllers. */
function auditCacheOf(read: Reader): AuditContext["cache"] {
  return {
    store: (ref) => ({ find: (key) => read.find(ref, key) }),
    guid: (_ref, object) => guidOf(object),
    spaceOf: (namespace) => findOwner(read, Space, namespace),
    orgOf: (namespace) => findOwner(read, Org, namespace),
  };
}
