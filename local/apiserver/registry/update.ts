// The verb update, and the common end of everything that changes an existing object.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import { trackUpdate } from "../apply/managed.ts";
import { badRequest, conflict, invalid, modified } from "../status.ts";
import { copyOf } from "../storage/store.ts";
import { invalidValue } from "../field-errors.ts";
import { fromStored, inOrder, toStored } from "./convert.ts";
import { createDecoded } from "./create.ts";
import {
  admit,
  checkBodyKind,
  type Core,
  currentOf,
  type InternalCall,
  mutate,
  namedOf,
  reportBodyFaults,
  shown,
  type WriteOptions,
  writeOptions,
} from "./core.ts";
import { finalizerWarnings, keepSystemFields, validateMetadataUpdate } from "./metadata.ts";
import {
  admissionOptions,
  fieldsRequest,
  isUnsettled,
  markUnsettled,
  placeInNamespace,
  resetFields,
  settle,
} from "./write-rules.ts";

const ATTEMPTS = 5;

export interface Updated {
  object: KubeObject;
  created: boolean;
}

/** Replaces an object or its status; an update creates objects of some kinds. */
export async function update(core: Core, call: InternalCall, body: KubeObject): Promise<Updated> {
  const options = writeOptions(call, "UpdateOptions");
  const { type, version, name } = call.target;
  checkBodyKind(call.target, body, options);
  const { object, faults } = type.strategy.decode(body, version);
  reportBodyFaults(call, options, faults);
  placeInNamespace(call, object);
  if (!object.metadata.name)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (object.metadata.name !== name)
    throw badRequest(`the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`);
  const isPinned = Boolean(object.metadata.resourceVersion);
  if (
    type.strategy.createsOnUpdate &&
    CREATING.has(call.target.subresource) &&
    !core.store.table(type.storageKey).find(call.target.namespace, name)
  ) {
    return { object: await createByUpdate(core, call, options, object), created: true };
  }
  return {
    object: await change(core, call, options, { retry: !isPinned, make: () => ({ object: copyOf(object) }) }),
    created: false,
  };
}

/** Writes that may create a missing object. */
export const CREATING = new Set(["", "status"]);

async function createByUpdate(
  core: Core,
  call: InternalCall,
  options: WriteOptions,
  object: KubeObject,
): Promise<KubeObject> {
  const { uid, resourceVersion } = object.metadata;
  if (uid) throw otherUid(call, { wanted: uid, found: "", dryRun: options.dryRun });
  call.checkCreate?.();
  delete object.metadata.resourceVersion;
  const made = await createDecoded(core, call, { object, keepsMarks: true }, options);
  // Nothing was stored that could have another version.
  return options.dryRun && resourceVersion ? { ...made, metadata: { ...made.metadata, resourceVersion } } : made;
}

const unpinned = ({ target: { type, name } }: InternalCall) =>
  invalid({ group: type.group, kind: type.resource }, name, [
    invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
  ]);

export interface Change {
  /** Retry after a conflicting write. */
  retry: boolean;
  isPatch?: boolean;
  /** The new object from the current one (in the version of the call; not to be changed). `managed`: its managedFields are right. `rewrites`: it is a new version even where nothing changed, and so is the next. */
  make: (current: KubeObject) => { object: KubeObject; managed?: boolean; rewrites?: boolean };
  /** Changes the object after validation. */
  complete?: (object: KubeObject) => void;
}

/** Carries out a change of an existing object: conflict checks, ownership, rules, admission, commit. */
export async function change(
  core: Core,
  call: InternalCall,
  options: WriteOptions,
  { retry, make, isPatch, complete }: Change,
): Promise<KubeObject> {
  const { target } = call;
  const { type } = target;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = currentOf(core, target);
    const current = shown(call, stored);
    const { object, managed, rewrites } = make(current);
    checkPreconditions(call, object, { current, isPatch: isPatch === true, dryRun: options.dryRun });
    const next = await prepare(core, call, options, { object, current, managed: managed === true });
    complete?.(next);
    const settled = settle(type, next, managed === true);
    const done = commit(core, call, {
      next: settled,
      stored,
      dryRun: options.dryRun,
      rewrites: (rewrites === true && !type.builtin) || settled !== next,
    });
    if (done) return done;
    if (!retry) break;
  }
  throw modified(namedOf(target.type), target.name);
}

/** Kinds that kube-apiserver keeps under an older name. */
const KEPT_AS: Record<string, string> = {
  services: "services/specs",
  endpoints: "services/endpoints",
  ingresses: "ingress",
  nodes: "minions",
};

/** In the words of kube-apiserver's store, which name the key; a dry run leaves out its root. */
function otherUid(
  { target: { type, name, namespace } }: InternalCall,
  { wanted, found, dryRun }: { wanted: string; found: string; dryRun: boolean },
) {
  const place = type.builtin ? (KEPT_AS[type.resource] ?? type.resource) : `${type.group}/${type.resource}`;
  const key = `${dryRun ? "" : "/registry"}/${place}/${namespace ? `${namespace}/` : ""}${name}`;
  return conflict(
    namedOf(type),
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`,
  );
}

function checkPreconditions(
  call: InternalCall,
  object: KubeObject,
  { current, isPatch, dryRun }: { current: KubeObject; isPatch: boolean; dryRun: boolean },
): void {
  const { type, name } = call.target;
  const { uid, resourceVersion } = object.metadata;
  // A patch that changes the uid is refused as such, further on.
  if (uid && uid !== current.metadata.uid && !isPatch)
    throw otherUid(call, { wanted: uid, found: current.metadata.uid ?? "", dryRun });
  if (!resourceVersion && !type.strategy.unconditionalUpdate) throw unpinned(call);
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw modified(namedOf(type), name);
}

interface Prepared {
  object: KubeObject;
  current: KubeObject;
  managed: boolean;
}

async function prepare(
  core: Core,
  call: InternalCall,
  options: WriteOptions,
  { object: sent, current, managed }: Prepared,
): Promise<KubeObject> {
  const { type, subresource, name } = call.target;
  const { strategy } = type;
  sent.metadata.resourceVersion = current.metadata.resourceVersion;
  // An update without deletionTimestamp removes its owner, but the timestamp stays.
  if (!managed) trackUpdate({ ...fieldsRequest(core, call, options), reset: resetFields(call) }, current, sent);
  keepSystemFields(sent, current);
  const asked = {
    operation: "UPDATE",
    oldObject: current,
    dryRun: options.dryRun,
    options: admissionOptions(call, "UpdateOptions"),
  } as const;
  const object = await mutate(core, call, name, { ...asked, object: sent });
  if (subresource === "status" && !type.builtin)
    object.metadata = { ...current.metadata, managedFields: object.metadata.managedFields };
  if (object.metadata.managedFields === undefined) delete object.metadata.managedFields;
  strategy.prepareUpdate(object, current, subresource);
  const grows =
    strategy.generationOf && !isDeepStrictEqual(strategy.generationOf(object), strategy.generationOf(current));
  if (grows) object.metadata.generation = (current.metadata.generation ?? 0) + 1;
  checkRules(call, object, current);
  await admit(core, call, name, { ...asked, object });
  return object;
}

/** Throws 422. */
function checkRules(call: InternalCall, object: KubeObject, current: KubeObject): void {
  const { type, subresource, name } = call.target;
  const first = type.strategy.validateFirst?.(object, subresource) ?? [];
  const common = validateMetadataUpdate(object, current, type);
  const errors =
    first.length > 0 ? first : [...common, ...type.strategy.validate(object, current, subresource, common)];
  if (errors.length > 0) throw invalid({ group: type.group, kind: object.kind }, name, errors);
  if (!type.builtin && subresource === "")
    call.warnings.push(...finalizerWarnings(object, current.metadata.finalizers));
}

interface Commit {
  next: KubeObject;
  stored: KubeObject;
  dryRun: boolean;
  rewrites: boolean;
}

/** Undefined when the object changed meanwhile. */
function commit(core: Core, call: InternalCall, { next, stored, dryRun, rewrites }: Commit): KubeObject | undefined {
  const { type, version } = call.target;
  const table = core.store.table(type.storageKey);
  if (table.find(stored.metadata.namespace ?? "", stored.metadata.name) !== stored) return undefined;
  const toStore = toStored(type, inOrder(next));
  if (dryRun) return next;
  if (isGone(toStore)) {
    const removed = core.store.remove(type.storageKey, stored);
    return removed && fromStored(type, toStore, version.version);
  }
  const isForced = rewrites || isUnsettled(stored);
  if (!isForced && isSame(toStore, stored)) return fromStored(type, stored, version.version);
  return put(core, call, { toStore, stored, rewrites });
}

function put(
  core: Core,
  { target: { type, version } }: InternalCall,
  { toStore, stored, rewrites }: { toStore: KubeObject; stored: KubeObject; rewrites: boolean },
): KubeObject | undefined {
  const done = core.store.put(type.storageKey, toStore, stored);
  if (done && rewrites) markUnsettled(done);
  return done && fromStored(type, done, version.version);
}

/** Deleted and without finalizers. */
export function isGone(object: KubeObject): boolean {
  if (!object.metadata.deletionTimestamp || (object.metadata.finalizers ?? []).length > 0) return false;
  const spec = object.spec as { finalizers?: string[] } | undefined;
  return object.kind !== "Namespace" || object.apiVersion !== "v1" || (spec?.finalizers ?? []).length === 0;
}

/** A write that changes only the times in managedFields is not stored. */
function isSame(next: KubeObject, stored: KubeObject): boolean {
  return isDeepStrictEqual(withoutTimes(next), withoutTimes(stored));
}

function withoutTimes(object: KubeObject): unknown {
  const { managedFields, ...metadata } = object.metadata;
  // Their order, which follows the times, counts: as in kube-apiserver.
  return {
    ...object,
    metadata: { ...metadata, managedFields: managedFields?.map(({ time: _time, ...entry }) => entry) },
  };
}
