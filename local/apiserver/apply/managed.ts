// Ownership of fields: keeps `metadata.managedFields` on every write and carries out server-side apply.
import type { KubeObject, ManagedFieldsEntry } from "../../../kube/api/object.ts";
import type { StatusBody } from "../types.ts";
import { badRequest, failure, StatusError } from "../status.ts";
import { type Comparison, compare } from "./compare.ts";
import { fieldsOf, withNamedFields, withoutFields } from "./extract.ts";
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  isEmpty,
  printPaths,
  setOf,
  union,
  withoutTrees,
} from "./field-set.ts";
import { capUpdaters, decodeManagers, encodeManagers, identityOf, type Manager, type Managers } from "./managers.ts";
import { mergeValues } from "./merge.ts";
import type { TypeView } from "./type-view.ts";
import { isMap, isUnreadableTime, sameValue } from "./values.ts";
import { shapeFaults, TOP_WITH_DUPLICATES, UNDECLARED } from "./validate.ts";

/** A write, as the bookkeeping needs it. Objects are in the version of the request. */
export interface FieldsRequest {
  view: TypeView;
  /** An object without any field set, to compare a new one with; default: only its kind. */
  empty?: KubeObject;
  manager: string;
  subresource: string;
  /** `group/version` of the request. */
  apiVersion: string;
  /** Whole seconds, RFC 3339. */
  time: string;
  /** Fields this door may not own, dotted: `status` on the main resource, `spec` on status. */
  reset: string[];
}

const SERVER_FIELDS = setOf(
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((field) => ["metadata", field]),
);
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

function withoutManaged(object: KubeObject): KubeObject {
  const { managedFields: _gone, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function blank({ empty }: FieldsRequest, object: KubeObject): KubeObject {
  return empty ?? { apiVersion: object.apiVersion, kind: object.kind, metadata: {} as KubeObject["metadata"] };
}

/** Sets `next.metadata.managedFields` after an ordinary write; `live` is absent on create. */
export function trackUpdate(request: FieldsRequest, live: KubeObject | undefined, next: KubeObject): void {
  const sent = request.subresource === "" ? next.metadata.managedFields : undefined;
  const managers = managersOf(sent, live);
  delete next.metadata.managedFields;
  // An object whose ownership was reset stays untracked until somebody applies it.
  if (live && managers.size === 0) return;
  // kube-apiserver drops the ownership of an object that does not fit its schema.
  const hasNoShape = (object: KubeObject) => shapeFaults(request.view, object, TOP_WITH_DUPLICATES).length > 0;
  if (hasNoShape(next) || (live && hasNoShape(withoutManaged(live)))) return;
  recordChange(request, managers, live ? withoutManaged(live) : blank(request, next), next);
  const encoded = encodeManagers(managers);
  if (encoded) next.metadata.managedFields = encoded;
}

/** A client may send the field back as it was, changed, or empty to reset it. */
function managersOf(sent: ManagedFieldsEntry[] | undefined, live: KubeObject | undefined): Managers {
  const isReset =
    sent !== undefined && (sent.length === 0 || (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0));
  if (isReset) return new Map();
  const managers = decodeManagers(sent);
  return managers.size > 0 ? managers : decodeManagers(live?.metadata.managedFields);
}

function recordChange(request: FieldsRequest, managers: Managers, live: KubeObject, next: KubeObject): void {
  const changes = compareWithin(request, live, next);
  const changed = difference(union(changes.modified, changes.added), SERVER_FIELDS);
  takeOver(managers, changes, undefined);
  if (!isEmpty(changed)) {
    const mine: Manager = {
      name: request.manager,
      operation: "Update",
      apiVersion: request.apiVersion,
      subresource: request.subresource,
      set: changed,
    };
    const id = identityOf(mine);
    const before = managers.get(id);
    managers.set(id, { ...mine, time: request.time, set: before ? union(before.set, changed) : changed });
  }
  capUpdaters(managers);
}

const allOwned = (managers: Managers): FieldSet =>
  [...managers.values()].reduce((all, manager) => union(all, manager.set), emptySet());

function compareWithin(request: FieldsRequest, live: unknown, next: unknown): Comparison {
  const changes = compare(request.view, live, next);
  if (request.reset.length === 0) return changes;
  const out = setOf(...request.reset.map((field) => field.split(".")));
  return {
    added: withoutTrees(changes.added, out),
    removed: withoutTrees(changes.removed, out),
    modified: withoutTrees(changes.modified, out),
  };
}

/** Others lose what was changed or removed. */
function takeOver(managers: Managers, changes: Comparison, self: string | undefined): void {
  const lost = union(union(changes.modified, changes.added), changes.removed);
  for (const [id, manager] of [...managers]) {
    if (id === self) continue;
    const set = difference(manager.set, lost);
    if (isEmpty(set)) managers.delete(id);
    else if (!sameValue(set, manager.set)) managers.set(id, { ...manager, set });
  }
}

export interface ApplyRequest extends FieldsRequest {
  force: boolean;
  /** How messages name its kind: `apps/v1, Kind=Deployment`. */
  gvk: string;
}

/** The live object (undefined: it does not exist) with a configuration applied. Throws StatusError 409 on conflicts. */
export function applyConfiguration(
  request: ApplyRequest,
  live: KubeObject | undefined,
  config: KubeObject,
): KubeObject {
  const base = live ? withoutManaged(live) : blank(request, config);
  const managers = decodeManagers(live?.metadata.managedFields);
  if (live && managers.size === 0) ownBefore(request, managers, { config, base });
  checkConfiguration(request, config);
  // The object that a create starts from fits its schema.
  refuseShape("failed to create typed live object", describe(request, base), liveFaults(request, base));

  const mine: Manager = {
    name: request.manager,
    operation: "Apply",
    apiVersion: request.apiVersion,
    subresource: request.subresource,
    set: ownedBy(request, config),
  };
  const id = identityOf(mine);
  const previous = managers.get(id);
  managers.set(id, { ...mine, time: previous?.time });
  const merged = pruned(request.view, mergeValues(request.view, base, config) as KubeObject, managers, previous);
  const changes = compareWithin(request, base, merged);
  if (!request.force) refuseConflicts(request, managers, { self: id, changes, live });
  takeOver(managers, changes, id);
  const { added, modified, removed } = compare(request.view, base, merged);
  const changed = [added, modified, removed].some((set) => !isEmpty(set));
  finish(managers, id, changed ? request.time : previous?.time);
  const result: KubeObject = { ...merged, metadata: { ...merged.metadata } };
  const encoded = encodeManagers(managers);
  if (encoded) result.metadata.managedFields = encoded;
  syncLastApplied(request, result, config);
  return result;
}

const describe = ({ gvk }: ApplyRequest, { metadata: { namespace = "", name = "" } }: KubeObject): string =>
  `(${namespace}/${name}; ${gvk})`;

function refuseShape(what: string, described: string, faults: string[]): void {
  if (faults.length === 0) return;
  throw failure(
    500,
    "",
    `${what} ${described}: ${faults.length === 1 ? faults[0] : `errors:\n${faults.map((fault) => `  ${fault}`).join("\n")}`}`,
  );
}

/** Problems that prevent a merge with the live object. Fields that its schema no longer has are not among them. */
const liveFaults = ({ view }: ApplyRequest, base: KubeObject): string[] =>
  shapeFaults(view, base, TOP_WITH_DUPLICATES).filter((fault) => !fault.endsWith(UNDECLARED));

/** Gives an owner to the existing fields. Fails for an object that does not fit its schema. */
function ownBefore(
  request: ApplyRequest,
  managers: Managers,
  { config, base }: { config: KubeObject; base: KubeObject },
): void {
  refuseShape(
    "failed to create manager for existing fields: failed to convert new object",
    `${describe(request, base)} to smd typed`,
    liveFaults(request, base),
  );
  recordChange({ ...request, manager: "before-first-apply" }, managers, blank(request, config), base);
}

function checkConfiguration(request: ApplyRequest, config: KubeObject): void {
  const sent: unknown = config.metadata.managedFields ?? undefined;
  const faults = shapeFaults(request.view, config);
  // A value that is not a list of managers is refused for its type.
  const isRead =
    Array.isArray(sent) &&
    sent.every((entry) => isMap(entry) && !isUnreadableTime(entry["time"])) &&
    !faults.some((fault) => fault.startsWith(".metadata.managedFields") && !fault.endsWith(UNDECLARED));
  if (isRead) throw badRequest("metadata.managedFields must be nil");
  refuseShape("failed to create typed patch object", describe(request, config), faults);
  delete config.metadata.managedFields;
}

function ownedBy(request: FieldsRequest, config: KubeObject): FieldSet {
  const set = fieldsOf(request.view, config);
  return request.reset.length > 0 ? withoutTrees(set, setOf(...request.reset.map((field) => field.split(".")))) : set;
}

function finish(managers: Managers, id: string, time: string | undefined): void {
  const mine = managers.get(id);
  if (!mine) return;
  const set = difference(mine.set, SERVER_FIELDS);
  if (isEmpty(set)) managers.delete(id);
  else managers.set(id, { ...mine, set, ...(time && { time }) });
}

/** Removes what this manager applied last time, does not now, and nobody else owns. */
function pruned(view: TypeView, merged: KubeObject, managers: Managers, previous: Manager | undefined): KubeObject {
  if (!previous || isEmpty(previous.set)) return merged;
  const last = withNamedFields(previous.set, view);
  const all = withNamedFields(fieldsOf(view, merged), view);
  const firstCut = withoutFields(view, merged, last);
  const keptFirst = withNamedFields(fieldsOf(view, firstCut), view);
  const withOwned = withoutFields(
    view,
    merged,
    difference(all, union(keptFirst, withNamedFields(allOwned(managers), view))),
  );
  const keptOwned = withNamedFields(fieldsOf(view, withOwned), view);
  return withoutFields(view, merged, intersection(difference(all, keptOwned), last)) as KubeObject;
}

function refuseConflicts(
  request: ApplyRequest,
  managers: Managers,
  seen: { self: string; changes: Comparison; live?: KubeObject },
): void {
  const touched = union(seen.changes.modified, seen.changes.added);
  const allowed = seen.live ? clientSideApplied(request, seen.live) : emptySet();
  const conflicts: { manager: Manager; path: string }[] = [];
  for (const [id, manager] of managers) {
    if (id === seen.self) continue;
    for (const path of printPaths(difference(intersection(manager.set, touched), allowed)))
      conflicts.push({ manager, path });
  }
  if (conflicts.length > 0) throw conflictError(conflicts);
}

/** kubectl may take over by apply what it once wrote by client-side apply, as long as nobody changed it since. */
function clientSideApplied(request: ApplyRequest, live: KubeObject): FieldSet {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (request.manager !== "kubectl" || !text) return emptySet();
  let last: KubeObject;
  try {
    last = JSON.parse(text) as KubeObject;
  } catch (error) {
    if (error instanceof SyntaxError) return emptySet();
    throw error;
  }
  if (last.apiVersion !== request.apiVersion) return emptySet();
  const { added, removed, modified } = compare(request.view, last, withoutManaged(live));
  return difference(fieldsOf(request.view, last), union(union(added, removed), modified));
}

function syncLastApplied(request: ApplyRequest, result: KubeObject, config: KubeObject): void {
  const annotations = result.metadata.annotations;
  if (request.manager !== "kubectl" || !annotations?.[LAST_APPLIED]) return;
  const { [LAST_APPLIED]: _old, ...rest } = config.metadata.annotations ?? {};
  const plain = {
    ...config,
    metadata: { ...config.metadata, ...(config.metadata.annotations && { annotations: rest }) },
  };
  result.metadata.annotations = { ...annotations, [LAST_APPLIED]: `${JSON.stringify(plain)}\n` };
}

function conflictError(conflicts: { manager: Manager; path: string }[]): StatusError {
  const sorted = conflicts
    .map(({ manager, path }) => ({ title: managerTitle(manager), path }))
    .sort((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0));
  const causes = sorted.map(({ title, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${title}`,
    field: path,
  }));
  const only = sorted.length === 1 ? sorted[0] : undefined;
  const groups = Map.groupBy(sorted, ({ title }) => title);
  const detail = only
    ? `conflict with ${only.title}: ${only.path}`
    : [...groups]
        .map(([title, paths]) => `conflicts with ${title}:\n${paths.map(({ path }) => `- ${path}`).join("\n")}`)
        .join("\n");
  const body: StatusBody = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "Conflict",
    code: 409,
    message: `Apply failed with ${conflicts.length} conflict${conflicts.length === 1 ? "" : "s"}: ${detail}`,
    details: { causes },
  };
  return new StatusError(body);
}

/** As kube-apiserver prints a manager: `"name" using apps/v1`, for appliers the name alone. */
function managerTitle(manager: Manager): string {
  let title = JSON.stringify(manager.name);
  if (manager.subresource) title += ` with subresource ${JSON.stringify(manager.subresource)}`;
  if (manager.operation === "Update") title += ` using ${manager.apiVersion}`;
  return title;
}
