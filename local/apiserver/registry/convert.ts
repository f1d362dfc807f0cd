// Between the stored form of an object and the version a client speaks.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceType } from "./types.ts";

const converted = new WeakMap<KubeObject, Map<string, KubeObject>>();

export function apiVersionOf(group: string, version: string): string {
  return group ? `${group}/${version}` : version;
}

/** A stored object as one version shows it. The result is shared: never change it. */
export function fromStored(type: ResourceType, object: KubeObject, version: string): KubeObject {
  const apiVersion = apiVersionOf(type.group, version);
  if (object.apiVersion === apiVersion && !type.fromStored) return object;
  let byVersion = converted.get(object);
  if (!byVersion) converted.set(object, (byVersion = new Map()));
  let found = byVersion.get(apiVersion);
  if (!found)
    byVersion.set(
      apiVersion,
      (found = { ...(type.fromStored ? type.fromStored(object) : object), apiVersion, kind: type.kind }),
    );
  return found;
}

/** The same fields, with those first that every object has: lists can then cut them off. */
export function inOrder(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, ...rest } = object;
  return { apiVersion, kind, metadata, ...rest };
}

/** An object of any served version in the form that is stored. */
export function toStored(type: ResourceType, object: KubeObject): KubeObject {
  if (type.toStored) return type.toStored(object);
  const apiVersion = apiVersionOf(type.group, type.storageVersion);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
