// Which audit events a write makes, in CF's types and metadata. Pure: the objects and the request in, drafts of events out.
import { DEFINITIONS } from "../../../crds/definitions.ts";
import type { KindDefinition } from "../../../crds/kind.ts";
import type { App } from "../../../crds/app/app.ts";
import type { Process } from "../../../crds/process/process.ts";
import { ANNOTATIONS } from "../../../crds/labels.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import type { Org } from "../../../crds/org/org.ts";
import type { Destination, Route } from "../../../crds/route/route.ts";
import type { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Space } from "../../../crds/space/space.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { rolesOf } from "../../../crds/role-assignments.ts";

/** A write with what the rules need of its surroundings. */
export interface AuditedWrite {
  verb: "create" | "patch" | "move" | "delete";
  kind: string;
  /** The created object, or its state before a patch or deletion. */
  object: KubeObject;
  /** `spec` of the merge patch. */
  changes: Record<string, unknown>;
  /** GUID of the object. */
  guid: string;
  /** The app that the object is or belongs to. */
  app?: App | undefined;
  /** GUID of the object of that kind and name in the object's namespace; "" when there is none. */
  guidOf: (kind: "App" | "Package" | "Droplet" | "Revision", name: string) => string;
  /** The quota of this object name for an org or space. */
  quotaOf: (name: string) => { guid: string; name: string } | undefined;
  /** GUID of the space that has this namespace; "" when there is none. */
  spaceGUIDOf: (namespace: string) => string;
  /** The namespace that the object was moved to. */
  movedTo?: string | undefined;
  /** The request's body without secrets. */
  request?: unknown;
}

/** `target` "app" is the write's app, or another one by its object name, in the object's namespace unless said; "self" is the object itself. */
export interface EventDraft {
  type: string;
  target:
    | { is: "app"; name?: string; namespace?: string }
    | { is: "self" }
    | { is: "user"; name: string }
    | { is: "quota"; guid: string; name: string };
  data: Record<string, unknown>;
}

type Rule = (write: AuditedWrite) => EventDraft[];

/** The events of a write; none for writes that CF does not record. */
export function listEvents(write: AuditedWrite): EventDraft[] {
  return rules[`${write.verb} ${write.kind}`]?.(write) ?? [];
}

const APP = { is: "app" } as const;
const SELF = { is: "self" } as const;

function requestOf({ request }: AuditedWrite): Record<string, unknown> {
  return request === undefined ? {} : { request };
}

/** An event about the app; `data` may add more than the request. */
function ofApp(type: string, data: (write: AuditedWrite) => Record<string, unknown> = () => ({})): Rule {
  return (write) => [{ type: `audit.app.${type}`, target: APP, data: data(write) }];
}

function ofSelf(type: string, data: (write: AuditedWrite) => Record<string, unknown> = requestOf): Rule {
  return (write) => [{ type: `audit.${type}`, target: SELF, data: data(write) }];
}

/** A broker's work on a managed instance begins with the write, and its end is in the status. */
function ofInstance(verb: string, data: (write: AuditedWrite) => Record<string, unknown> = requestOf): Rule {
  return (write) => {
    const isManaged = (write.object as ServiceInstance).spec.type === "managed";
    return ofSelf(isManaged ? `service_instance.start_${verb}` : `user_provided_service_instance.${verb}`, data)(write);
  };
}

function instanceChange(write: AuditedWrite): EventDraft[] {
  if ("sharedSpaces" in write.changes) return sharingChange("service_instance", write);
  // A deletion first notes who asks for it.
  const isNote = Object.keys(write.changes).length === 0 && write.request === undefined;
  return isNote ? [] : ofInstance("update")(write);
}

/** A binding of a user-provided instance is done with the write; the API names who asks only where a broker is asked. */
function ofBinding(verb: string, data: (write: AuditedWrite) => Record<string, unknown> = requestOf): Rule {
  return (write) => {
    const { spec, metadata, status } = write.object as ServiceBinding;
    if (spec.type === "key") return ofSelf(`service_key.start_${verb}`, data)(write);
    const isAsked = metadata.annotations?.[ANNOTATIONS.askedBy] !== undefined || status?.lastOperation !== undefined;
    const noun = spec.type === "route" ? "service_route_binding" : "service_binding";
    return ofSelf(`${noun}.${isAsked ? "start_" : ""}${verb}`, data)(write);
  };
}

/** Create, update and delete of an object that is its own target, for kinds whose definition says so. */
function lifecycleRules({ kind, audit }: KindDefinition): [write: string, Rule][] {
  if (!audit?.lifecycle) return [];
  const { noun, deletion } = audit.lifecycle;
  return [
    [`create ${kind}`, ofSelf(`${noun}.create`)],
    [`patch ${kind}`, ofSelf(`${noun}.update`)],
    [`delete ${kind}`, ofSelf(`${noun}.${deletion}`, () => ({}))],
  ];
}

const rules: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(DEFINITIONS.flatMap(lifecycleRules)),
  "create App": ofApp("create", requestOf),
  "patch App": appChange,
  "delete App": ofApp("delete-request"),
  "create Process": ofApp("process.create", processData),
  "patch Process": processChange,
  "delete Process": ofApp("process.delete", processData),
  "create Package": ofApp("package.create", (write) => ({ package_guid: write.guid, ...requestOf(write) })),
  "patch Package": (write) =>
    "content" in write.changes ? ofApp("package.upload", ({ guid }) => ({ package_guid: guid }))(write) : [],
  "delete Package": ofApp("package.delete", ({ guid }) => ({ package_guid: guid })),
  "create Build": ofApp("build.create", buildData),
  "create Droplet": ofApp("droplet.create", (write) => ({ droplet_guid: write.guid, ...requestOf(write) })),
  "patch Droplet": (write) =>
    "content" in write.changes ? ofApp("droplet.upload", ({ guid }) => ({ droplet_guid: guid }))(write) : [],
  "delete Droplet": ofApp("droplet.delete", ({ guid }) => ({ droplet_guid: guid })),
  "create Task": ofApp("task.create", (write) => ({ task_guid: write.guid, ...requestOf(write) })),
  "patch Task": (write) =>
    "cancelled" in write.changes ? ofApp("task.cancel", ({ guid }) => ({ task_guid: guid }))(write) : [],
  "create Rollout": ofApp("deployment.create", (write) => ({ deployment_guid: write.guid, ...requestOf(write) })),
  "patch Rollout": rolloutChange,
  "create Route": routeCreation,
  "patch Route": routeChange,
  "move Route": ofSelf("route.transfer-owner", ({ movedTo = "", spaceGUIDOf }) => ({
    target_space_guid: spaceGUIDOf(movedTo),
  })),
  "delete Route": ofSelf("route.delete-request", () => ({ request: { recursive: false } })),
  "patch Space": spaceChange,
  "patch Org": orgChange,
  "patch Buildpack": (write) => ofSelf("content" in write.changes ? "buildpack.upload" : "buildpack.update")(write),
  "create ServiceInstance": ofInstance("create"),
  "patch ServiceInstance": instanceChange,
  "delete ServiceInstance": ofInstance("delete", () => ({})),
  "create ServiceBinding": ofBinding("create"),
  "delete ServiceBinding": ofBinding("delete", () => ({})),
  "create RoleBinding": roleEvents("add"),
  "delete RoleBinding": roleEvents("remove"),
};

/** Another quota is an event about the quota. */
function orgChange(write: AuditedWrite): EventDraft[] {
  const { changes, object, guid, quotaOf } = write;
  const name = (changes["quotaRef"] as { name: string } | undefined)?.name;
  if (name === undefined) return ofSelf("organization.update")(write);
  const data = { organization_guid: guid, organization_name: displayNameOf(object as Org) };
  return quotaEvent("organization_quota.apply", quotaOf(name), data);
}

function spaceChange(write: AuditedWrite): EventDraft[] {
  const { changes, object, guid, quotaOf } = write;
  if (!("quotaRef" in changes)) return ofSelf("space.update")(write);
  const applied = changes["quotaRef"] as { name: string } | null;
  const { name = "" } = applied ?? (object as Space).spec.quotaRef ?? {};
  const data = { space_guid: guid, space_name: displayNameOf(object as Space) };
  return quotaEvent(applied ? "space_quota.apply" : "space_quota.remove", quotaOf(name), data);
}

function quotaEvent(
  type: string,
  quota: { guid: string; name: string } | undefined,
  data: Record<string, unknown>,
): EventDraft[] {
  return quota ? [{ type: `audit.${type}`, target: { is: "quota", ...quota }, data }] : [];
}

function appChange(write: AuditedWrite): EventDraft[] {
  const { changes, object, guidOf } = write;
  const event = (type: string, data: Record<string, unknown> = {}): EventDraft => ({
    type: `audit.app.${type}`,
    target: APP,
    data,
  });
  // CF records nothing when a build cache is cleared.
  if ("buildCache" in changes) return [];
  if (changes["state"] === "Stopped") return [event("stop")];
  if (changes["state"] === "Started") return [event((object as App).spec.state === "Started" ? "restart" : "start")];
  const droplet = (changes["droplet"] as { name?: string } | undefined)?.name;
  if (droplet !== undefined)
    return [event("droplet.mapped", { request: { droplet_guid: guidOf("Droplet", droplet) } })];
  return [event("update", requestOf(write))];
}

function processData({ object, guid }: AuditedWrite): Record<string, unknown> {
  return { process_guid: guid, process_type: (object as Process).spec.type };
}

/** Fields of a scale, with CF's names. */
const SIZES: Readonly<Record<string, string>> = {
  instances: "instances",
  memoryMB: "memory_in_mb",
  diskMB: "disk_in_mb",
  logRateLimitBytesPerSecond: "log_rate_limit_in_bytes_per_second",
};

function processChange(write: AuditedWrite): EventDraft[] {
  const event = (type: string, data: Record<string, unknown>): EventDraft[] => [
    { type: `audit.app.process.${type}`, target: APP, data: { ...processData(write), ...data } },
  ];
  const [index] = Object.keys((write.changes["restartInstances"] ?? {}) as object);
  if (index !== undefined) return event("terminate_instance", { process_index: Number(index) });
  const entries = Object.entries(write.changes);
  if (entries.length > 0 && entries.every(([key]) => key in SIZES))
    return event("scale", { request: Object.fromEntries(entries.map(([key, value]) => [SIZES[key], value])) });
  return event("update", requestOf(write));
}

function buildData({ object, guid, guidOf }: AuditedWrite): Record<string, unknown> {
  const name = (object as { spec?: { packageRef?: { name?: string } } }).spec?.packageRef?.name;
  return { build_guid: guid, ...(name !== undefined && { package_guid: guidOf("Package", name) }) };
}

function rolloutChange({ changes, guid }: AuditedWrite): EventDraft[] {
  const type = changes["cancelled"] ? "cancel" : changes["paused"] === false ? "continue" : undefined;
  return type ? [{ type: `audit.app.deployment.${type}`, target: APP, data: { deployment_guid: guid } }] : [];
}

function routeCreation(write: AuditedWrite): EventDraft[] {
  const created: EventDraft = { type: "audit.route.create", target: SELF, data: requestOf(write) };
  return [created, ...(write.object as Route).spec.destinations.map((one) => mapping("map-route", write, one))];
}

/** Destinations are compared by what identifies them: another weight alone is no event. */
function routeChange(write: AuditedWrite): EventDraft[] {
  return "sharedSpaces" in write.changes
    ? [...sharingChange("route", write), ...unmappings(write)]
    : destinationChange(write);
}

/** Spaces that a change shares the object with, in one event, and those that it no longer shares it with. */
function sharingChange(noun: string, { object, changes, spaceGUIDOf }: AuditedWrite): EventDraft[] {
  const before = (object as Route | ServiceInstance).spec.sharedSpaces ?? [];
  const after = (changes["sharedSpaces"] ?? []) as string[];
  const added = after.filter((namespace) => !before.includes(namespace)).map(spaceGUIDOf);
  const gone = before.filter((namespace) => !after.includes(namespace)).map(spaceGUIDOf);
  return [
    ...(added.length > 0 ? [{ type: `audit.${noun}.share`, target: SELF, data: { target_space_guids: added } }] : []),
    ...gone.map((guid) => ({ type: `audit.${noun}.unshare`, target: SELF, data: { target_space_guid: guid } })),
  ];
}

/** The destinations of a route in a space that it is no longer shared with. */
function unmappings(write: AuditedWrite): EventDraft[] {
  return "destinations" in write.changes ? destinationChange(write) : [];
}

function destinationChange(write: AuditedWrite): EventDraft[] {
  const after = write.changes["destinations"] as Destination[] | undefined;
  if (!after) return [{ type: "audit.route.update", target: SELF, data: requestOf(write) }];
  const before = (write.object as Route).spec.destinations;
  const missingIn = (others: Destination[]) => (one: Destination) =>
    !others.some((other) => IDENTITY.every((field) => other[field] === one[field]));
  return [
    ...after.filter(missingIn(before)).map((one) => mapping("map-route", write, one)),
    ...before.filter(missingIn(after)).map((one) => mapping("unmap-route", write, one)),
  ];
}

const IDENTITY = ["app", "namespace", "process", "port"] as const;

function mapping(type: string, { guid }: AuditedWrite, destination: Destination): EventDraft {
  const { app, namespace, process, port, protocol, weight } = destination;
  return {
    type: `audit.app.${type}`,
    target: { is: "app", name: app, ...(namespace && { namespace }) },
    data: {
      route_guid: guid,
      process_type: process,
      app_port: port || null,
      protocol,
      ...(weight !== undefined && { weight }),
    },
  };
}

function roleEvents(change: "add" | "remove"): Rule {
  return (write) =>
    rolesOf(write.object).map(({ type, user }) => ({
      type: `audit.user.${type}_${change}`,
      target: { is: "user", name: user },
      data: requestOf(write),
    }));
}
