// The verb create.
import type { KubeObject } from "../../../kube/api/object.ts";
import { trackUpdate } from "../apply/managed.ts";
import type { FieldError } from "../types.ts";
import { alreadyExists, invalid } from "../status.ts";
import { fromStored, inOrder, toStored } from "./convert.ts";
import {
  admit,
  checkBodyKind,
  checkNamespace,
  type Core,
  type InternalCall,
  mutate,
  namedOf,
  plainError,
  reportBodyFaults,
  timestamp,
  type WriteOptions,
  writeOptions,
} from "./core.ts";
import { finalizerWarnings, generateName, validateMetadata } from "./metadata.ts";
import { admissionOptions, fieldsRequest, placeInNamespace, resetFields, settle, unsettle } from "./write-rules.ts";

/** Stores a new object; answers with it in the version of the call. `body` belongs to the registry from here on. */
export async function create(core: Core, call: InternalCall, body: KubeObject): Promise<KubeObject> {
  const options = writeOptions(call, "CreateOptions");
  const { type, version } = call.target;
  checkBodyKind(call.target, body, options);
  const { object, faults } = type.strategy.decode(body, version);
  reportBodyFaults(call, options, faults);
  return createDecoded(core, call, { object }, options);
}

export interface NewObject {
  object: KubeObject;
  /** Its managedFields are right as they are. */
  managed?: boolean;
  /** The next write of it is a new version in any case. */
  rewrites?: boolean;
  /** It keeps the marks of a deletion that it came with: only a create takes them away. */
  keepsMarks?: boolean;
}

/** As create, for an object that was decoded already. */
export async function createDecoded(
  core: Core,
  call: InternalCall,
  { object: sent, managed = false, rewrites, keepsMarks = managed }: NewObject,
  options: WriteOptions,
): Promise<KubeObject> {
  clear(call, sent, { managed, keepsMarks });
  checkNamespace(core, call.target, sent.metadata.name || (sent.metadata.generateName ?? ""));
  if (!managed) trackUpdate({ ...fieldsRequest(core, call, options), reset: resetFields(call) }, undefined, sent);
  const asked = {
    operation: "CREATE",
    dryRun: options.dryRun,
    options: admissionOptions(call, "CreateOptions"),
  } as const;
  const object = await mutate(core, call, sent.metadata.name ?? "", { ...asked, object: sent });
  complete(core, call, object);
  const { name } = object.metadata;
  await admit(core, call, name, { ...asked, object });
  // The namespace may have begun to go away while admission was asked.
  checkNamespace(core, call.target, name);
  const settled = settle(call.target.type, object, managed);
  const made = commitNew(core, call, settled, options.dryRun);
  if ((rewrites && !call.target.type.builtin) || settled !== object) unsettle(core, call, made);
  return made;
}

const SYSTEM_FIELDS = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "resourceVersion",
] as const;

const MARKS = new Set<string>(["deletionTimestamp", "deletionGracePeriodSeconds"]);

/** Drops the fields of a new object that a client may not set. */
function clear(
  call: InternalCall,
  object: KubeObject,
  { managed, keepsMarks }: { managed: boolean; keepsMarks: boolean },
): void {
  placeInNamespace(call, object);
  if (object.metadata.resourceVersion && !managed)
    throw plainError(500, "resourceVersion should not be set on objects to be created");
  const hasGeneration = call.target.type.strategy.generationOf !== undefined;
  const isKept = (field: string) =>
    (keepsMarks && MARKS.has(field)) ||
    (managed && field === "resourceVersion") ||
    (field === "generation" && !hasGeneration);
  for (const field of SYSTEM_FIELDS) if (!isKept(field)) delete object.metadata[field];
  delete (object.metadata as { selfLink?: string }).selfLink;
}

/** Adds the server's fields to a new object and applies its rules. Throws 422. */
function complete(core: Core, call: InternalCall, object: KubeObject): void {
  const { type } = call.target;
  const { metadata } = object;
  if (!metadata.name) metadata.name = metadata.generateName ? generateName(metadata.generateName, core.random) : "";
  if (type.strategy.generationOf) metadata.generation = 1;
  metadata.uid = core.newUid();
  metadata.creationTimestamp = timestamp(core.now());
  type.strategy.prepareCreate(object, call.target.subresource);
  const errors = faultsOf(call, object);
  if (errors.length > 0) throw invalid({ group: type.group, kind: object.kind }, metadata.name, errors);
  if (!type.builtin) call.warnings.push(...finalizerWarnings(object));
}

function faultsOf({ target: { type, subresource } }: InternalCall, object: KubeObject): FieldError[] {
  const first = type.strategy.validateFirst?.(object, subresource) ?? [];
  if (first.length > 0) return first;
  // For an object of another kind only that is reported.
  const common = type.builtin || object.kind === type.kind ? validateMetadata(object, type) : [];
  return [...common, ...type.strategy.validate(object, undefined, "", common)];
}

function commitNew(core: Core, call: InternalCall, object: KubeObject, dryRun: boolean): KubeObject {
  const { type, version } = call.target;
  const { namespace = "", name } = object.metadata;
  const present = () => core.store.table(type.storageKey).find(namespace, name);
  const exists = () =>
    alreadyExists(namedOf(type), name, {
      isLeaving: present()?.metadata.deletionTimestamp !== undefined,
      isGenerated: Boolean(object.metadata.generateName),
    });
  if (dryRun) {
    if (present()) throw exists();
    return object;
  }
  const stored = core.store.put(type.storageKey, toStored(type, inOrder(object)), undefined);
  if (!stored) throw exists();
  return fromStored(type, stored, version.version);
}
