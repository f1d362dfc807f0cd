// Completes the events of a write: GUIDs and names of actor and target, the namespace that they belong to, space and org.
import { findDefinition } from "../../../crds/definitions.ts";
import { App } from "../../../crds/app/app.ts";
import { MAX_PARTY_NAME, type AuditEvent } from "../../../crds/audit-log/audit-log.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { eventGUID, newGUID } from "../../../crds/guid.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import { Org } from "../../../crds/org/org.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Package } from "../../../crds/package/package.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import type { Route } from "../../../crds/route/route.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Space } from "../../../crds/space/space.ts";
import { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { ClusterCache, ObjectFinder } from "../../cache/cluster-cache.ts";
import { appOfWrite, type Write } from "../app/app-log.ts";
import { listEvents, type AuditedWrite, type EventDraft } from "./event-rules.ts";
import { toEventData } from "./redact-request.ts";

/** An event and the namespace whose AuditLog it belongs to. */
export interface PlacedEvent {
  namespace: string;
  event: AuditEvent;
}

/** Reads that events need of a cache. */
export type AuditCache = ObjectFinder & Pick<ClusterCache, "guid" | "spaceOf" | "orgOf">;

export interface AuditContext {
  cache: AuditCache;
  /** The caller's name. */
  actor: string;
  /** The request's body without secrets. */
  request?: unknown;
  /** The request applies a manifest: its own event shows the manifest. */
  isManifest?: boolean;
  now: Date;
  /** ID of the request to the API that made the write, where one did. */
  requestId?: string | undefined;
  /** Tells the write from others of the same object, where several processes may record it. A deletion needs none. */
  identity?: string;
}

const kinds: Readonly<Record<string, ResourceRef>> = { App, Package, Droplet, Revision };

export function toAuditEvents(write: Write, context: AuditContext): PlacedEvent[] {
  const audited = toAuditedWrite(write, context);
  return listEvents(audited).flatMap(
    (draft, index) => placeEvent(draft, audited, context, guidOfEvent(audited, draft.type, index, context)) ?? [],
  );
}

/** Every recorder of the same event derives its GUID from the same `eventIdentity`. */
function guidOfEvent({ verb, object }: AuditedWrite, type: string, index: number, context: AuditContext): string {
  const now = context.now.getTime();
  const identity = context.identity ?? (verb === "delete" ? "" : undefined);
  const { uid = "" } = object.metadata;
  return identity === undefined ? newGUID(now) : eventGUID(now, uid, identity, type, String(index));
}

/** The event of a request that writes no object, such as a read that CF records: `type` without `audit.app.`, about an app. */
export function toAppEvent(
  { type, app, data = {} }: { type: string; app: App; data?: Record<string, unknown> | undefined },
  context: AuditContext,
): PlacedEvent {
  const write = toAuditedWrite({ verb: "patch", ref: App, object: app }, context);
  const draft: EventDraft = { type: `audit.app.${type}`, target: { is: "app" }, data };
  return placeEvent(draft, write, context, newGUID(context.now.getTime())) as PlacedEvent;
}

function toAuditedWrite(
  { verb, ref, object, changes = {}, moved }: Write,
  { cache, request }: AuditContext,
): AuditedWrite {
  const { namespace = "" } = object.metadata;
  return {
    verb,
    kind: ref.kind,
    object,
    changes,
    // Deleted and new objects need not be in the cache, and RoleBindings have no GUID.
    guid: cache.guid(ref, object),
    app: appOfWrite(cache, { ref, object }),
    guidOf(kind, name) {
      const of = kinds[kind];
      const found = of && cache.store(of).find({ namespace, name });
      return of && found ? cache.guid(of, found) : "";
    },
    quotaOf: (name) => findQuota(cache, { kind: ref.kind, namespace, name }),
    spaceGUIDOf(of) {
      const space = cache.spaceOf(of);
      return space ? cache.guid(Space, space) : "";
    },
    movedTo: moved?.metadata.namespace,
    request,
  };
}

/** The quota that an org or space names. */
function findQuota(
  cache: AuditCache,
  { kind, namespace, name }: { kind: string; namespace: string; name: string },
): { guid: string; name: string } | undefined {
  const of: ResourceRef<OrgQuota | SpaceQuota> = kind === Org.kind ? OrgQuota : SpaceQuota;
  const quota = cache.store(of).find({ namespace: kind === Org.kind ? SYSTEM_NAMESPACE : namespace, name });
  return quota && { guid: cache.guid(of, quota), name: quota.spec.name };
}

function placeEvent(
  draft: EventDraft,
  write: AuditedWrite,
  context: AuditContext,
  guid: string,
): PlacedEvent | undefined {
  const target = findTarget(draft, write, context.cache);
  if (!target) return undefined;
  const at = context.now.toISOString();
  const data = toEventData(context.isManifest ? { ...draft.data, manifest_triggered: true } : draft.data);
  return {
    namespace: write.object.metadata.namespace ?? SYSTEM_NAMESPACE,
    event: {
      guid,
      at,
      type: draft.type,
      actor: cutNames({ guid: context.actor, type: "user", name: context.actor }),
      target: cutNames(target),
      ...findOwners(write, context.cache),
      ...(data !== undefined && { data }),
      ...(context.requestId !== undefined && { requestId: context.requestId }),
    },
  };
}

/** An AuditLog refuses longer names, and with them all events of the same write. */
function cutNames({ guid, type, name }: AuditEvent["target"]): AuditEvent["target"] {
  return { guid: guid.slice(0, MAX_PARTY_NAME), type, name: name.slice(0, MAX_PARTY_NAME) };
}

function findTarget(
  { type, target }: EventDraft,
  write: AuditedWrite,
  cache: AuditCache,
): AuditEvent["target"] | undefined {
  if (target.is === "user") return { guid: target.name, type: "user", name: target.name };
  if (target.is === "quota")
    return {
      guid: target.guid,
      type: write.kind === Org.kind ? "organization_quota" : "space_quota",
      name: target.name,
    };
  if (target.is === "self") return { guid: write.guid, type: targetType(write.kind, type), name: nameOf(write.object) };
  const { namespace = write.object.metadata.namespace ?? "" } = target;
  const app = target.name === undefined ? write.app : cache.store(App).find({ namespace, name: target.name });
  return app && { guid: cache.guid(App, app), type: "app", name: displayNameOf(app) };
}

/** Services have several nouns for a kind: the event's type has the right one. */
function targetType(kind: string, type: string): string {
  if (kind === ServiceInstance.kind || kind === ServiceBinding.kind) return type.split(".")[1] ?? "";
  return findDefinition(kind)?.audit?.lifecycle?.noun ?? kind.toLowerCase();
}

/** A route's name is its host, as in CF. */
function nameOf(object: KubeObject): string {
  return object.kind === "Route" ? (object as Route).spec.host : displayNameOf(object as App);
}

/** GUIDs of the space and org that the object is in, or is. */
function findOwners({ kind, object, guid }: AuditedWrite, cache: AuditCache): Partial<AuditEvent> {
  if (kind === Org.kind) return { orgGUID: guid };
  const { namespace } = object.metadata;
  const space = kind === Space.kind ? undefined : cache.spaceOf(namespace);
  const org = cache.orgOf(space ? space.metadata.namespace : namespace);
  const spaceGUID = kind === Space.kind ? guid : space && cache.guid(Space, space);
  return { ...(spaceGUID && { spaceGUID }), ...(org && { orgGUID: cache.guid(Org, org) }) };
}
