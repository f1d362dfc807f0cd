// The verb create.
import { type KubeObject } from "../../../kube/object.ts";
import { trackUpdate } from "../apply/managed.ts";
import { alreadyExists, badRequest, invalid } from "../status.ts";
import { apiVersionOf, fromStored, toStored } from "./convert.ts";
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
  return createDecoded(core, call, object, options);
}

/** As create, for an object that was decoded already; `managed` means that its managedFields are right as they are. */
export async function createDecoded(core: Core, call: InternalCall, object: KubeObject, options: WriteOptions, managed = false): Promise<KubeObject> {
  const { type, version } = call.target;
  placeInNamespace(call, object);
  const { metadata } = object;
  if (metadata.resourceVersion) throw plainError(500, "resourceVersion should not be set on objects to be created");
  const generated = !metadata.name && Boolean(metadata.generateName);
  if (generated && metadata.generateName) metadata.name = generateName(metadata.generateName, core.random);
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

  const stored = toStored(type, object);
  if (options.dryRun ? core.store.table(type.storageKey).find(metadata.namespace ?? "", metadata.name) : !core.store.put(type.storageKey, stored, undefined)) {
    throw alreadyExists(namedOf(type), metadata.name);
  }
  return options.dryRun ? object : fromStored(type, stored, version.version);
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
