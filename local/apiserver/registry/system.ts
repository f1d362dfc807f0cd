// The server's own hands: reads for admission and auth, writes that no policy is asked about.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceReader, SystemWriter, UserInfo } from "../types.ts";
import { notFound } from "../status.ts";
import { copyOf } from "../storage/store.ts";
import { apiVersionOf } from "./convert.ts";
import type { Core, InternalCall } from "./core.ts";
import { create } from "./create.ts";
import { type DeleteOptions, remove } from "./delete.ts";
import type { ResourceType } from "./types.ts";
import { change, update } from "./update.ts";

export const SYSTEM: UserInfo = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

/** A call of the server itself, with the stored version. */
export function systemCall(type: ResourceType, namespace: string, name: string, subresource = ""): InternalCall {
  const version = type.versions.find((candidate) => candidate.version === type.storageVersion) ?? type.versions[0];
  if (!version) throw new Error(`${type.resource}.${type.group} has no version`);
  return {
    target: { type, version, namespace: type.namespaced ? namespace : "", name, subresource },
    user: SYSTEM,
    query: new URLSearchParams(),
    userAgent: "kube-apiserver",
    faults: [],
    warnings: [],
    internal: true,
  };
}

/** The type that owns a storage key. */
export function typeOfKey(core: Core, storageKey: string): ResourceType | undefined {
  const slash = storageKey.indexOf("/");
  return core.catalogue.find(storageKey.slice(0, slash), storageKey.slice(slash + 1));
}

export function createReader(core: Core): ResourceReader {
  const key = (group: string, resource: string) =>
    core.catalogue.find(group, resource)?.storageKey ?? `${group}/${resource}`;
  return {
    find: (group, resource, namespace, name) => core.store.table(key(group, resource)).find(namespace, name),
    list: (group, resource, namespace) => core.store.table(key(group, resource)).list(namespace || undefined),
    subscribe: (group, resource, onChange) => core.store.table(key(group, resource)).subscribe(onChange),
    findKind(group, kind) {
      const type = core.catalogue.findKind(group, kind);
      const version = type?.versions[0];
      return (
        type &&
        version && { gvr: { group, version: version.version, resource: type.resource }, namespaced: type.namespaced }
      );
    },
  };
}

export function createWriter(core: Core): SystemWriter {
  const typeOf = (group: string, resource: string) => {
    const type = core.catalogue.find(group, resource);
    if (!type) throw notFound({ group, resource }, "");
    return type;
  };
  return {
    create: ({ group, resource }, object) =>
      create(core, systemCall(typeOf(group, resource), object.metadata.namespace ?? "", ""), structuredClone(object)),
    update: async ({ group, resource }, object) =>
      (
        await update(
          core,
          systemCall(typeOf(group, resource), object.metadata.namespace ?? "", object.metadata.name),
          structuredClone(object),
        )
      ).object,
    async delete({ group, resource }, namespace, name) {
      await remove(core, systemCall(typeOf(group, resource), namespace, name), {});
    },
  };
}

/** Changes an object in place, as often as it takes; finalizers and the like. */
export async function edit(
  core: Core,
  type: ResourceType,
  at: { namespace: string; name: string; subresource?: string },
  apply: (object: KubeObject) => void,
): Promise<void> {
  const call = systemCall(type, at.namespace, at.name, at.subresource);
  await change(
    core,
    call,
    { dryRun: false, fieldManager: "kube-apiserver", fieldValidation: "Ignore", force: undefined },
    {
      retry: true,
      make(current) {
        const object = copyOf(current);
        object.apiVersion = apiVersionOf(type.group, call.target.version.version);
        apply(object);
        return { object };
      },
    },
  );
}

/** Deletes as the server; options as a client could give them. */
export async function removeAsSystem(
  core: Core,
  type: ResourceType,
  object: KubeObject,
  options: DeleteOptions,
): Promise<void> {
  await remove(core, systemCall(type, object.metadata.namespace ?? "", object.metadata.name), options);
}
