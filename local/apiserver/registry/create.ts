// The verb create.
import type { KubeObject } from "../../../kube/object.ts";
import { trackUpdate } from "../apply/managed.ts";
import { alreadyExists, badRequest, invalid } from "../status.ts";
import { apiVersionOf, fromStored, inOrder, toStored } from "./convert.ts";
import { admit, checkBodyKind, checkNamespace, type Core, type InternalCall, namedOf, plainError, reportFaults, timestamp, type WriteOptions, writeOptions } from "./core.ts";
import { finalizerWarnings, generateName, validateMetadata } from "./metadata.ts";
import { resetFields } from "./update.ts";

/** Stores a new object; answers with it in the version of the call. `body` belongs to the registry from here on. */
export async function create(core: Core, call: InternalCall, body: KubeObject): Promise<KubeObject> {
  const options = writeOptions(call, "CreateOptions");
  const { type, version } = call.target;
  checkBodyKind({ group: type.group, version: version.version, kind: type.kind }, body, type.builtin);
  const { object, faults } = type.strategy.decode(body, version);
  reportFaults(call, options, faults, (message) => badRequest(`${type.kind} in version ${JSON.stringify(version.version)} cannot be handled as a ${type.kind}: ${message}`));
  return createDecoded(core, call, { object }, options);
}

export interface NewObject {
  object: KubeObject;
  /** Its managedFields are right as they are. */
  managed?: boolean;
}

/** As create, for an object that was decoded already. */
export async function createDecoded(core: Core, call: InternalCall, { object, managed }: NewObject, options: WriteOptions): Promise<KubeObject> {
  const { type } = call.target;
  placeInNamespace(call, object);
  const { metadata } = object;
  if (metadata.resourceVersion && !managed) throw plainError(500, "resourceVersion should not be set on objects to be created");
  if (!metadata.name) metadata.name = metadata.generateName ? generateName(metadata.generateName, core.random) : "";
  for (const field of ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion"] as const) delete metadata[field];
  checkNamespace(core, call.target, metadata.name);

  if (!managed) trackUpdate({ ...fieldsRequest(core, call, options), reset: resetFields(call) }, undefined, object);
  if (type.strategy.generationOf) metadata.generation = 1;
  metadata.uid = core.newUid();
  metadata.creationTimestamp = timestamp(core.now());
  type.strategy.prepareCreate(object);
  const errors = [...validateMetadata(object, type), ...type.strategy.validate(object, undefined, "")];
  if (errors.length > 0) throw invalid(type, metadata.name, errors);
  call.warnings.push(...finalizerWarnings(object));
  await admit(core, call, metadata.name, { operation: "CREATE", object, dryRun: options.dryRun, options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: options.fieldManager } });
  // The namespace may have begun to go away while admission was asked.
  checkNamespace(core, call.target, metadata.name);
  return commitNew(core, call, object, options.dryRun);
}

function commitNew(core: Core, call: InternalCall, object: KubeObject, dryRun: boolean): KubeObject {
  const { type, version } = call.target;
  const { namespace = "", name } = object.metadata;
  const exists = () => alreadyExists(namedOf(type), name);
  if (dryRun) {
    if (core.store.table(type.storageKey).find(namespace, name)) throw exists();
    return object;
  }
  const stored = core.store.put(type.storageKey, toStored(type, inOrder(object)), undefined);
  if (!stored) throw exists();
  return fromStored(type, stored, version.version);
}

/** The namespace of the path is the object's; another one in the body is refused. */
export function placeInNamespace(call: InternalCall, object: KubeObject): void {
  const { type, namespace } = call.target;
  object.metadata ??= {} as KubeObject["metadata"];
  if (!type.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (object.metadata.namespace && object.metadata.namespace !== namespace) throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  object.metadata.namespace = namespace;
}

/** What the bookkeeping of managed fields needs of a call. */
export function fieldsRequest(core: Core, call: InternalCall, options: WriteOptions) {
  const { type, version, subresource } = call.target;
  return { view: version.view, manager: options.fieldManager, subresource, apiVersion: apiVersionOf(type.group, version.version), time: timestamp(core.now()) };
}
