// Rules that create and update share: where an object is placed, who is recorded as the owner of its fields, and what its next write must store.
import type { KubeObject } from "../../../kube/api/object.ts";
import { badRequest } from "../status.ts";
import { apiVersionOf } from "./convert.ts";
import { timestamp, type Core, type InternalCall, type WriteOptions } from "./core.ts";
import type { ResourceType } from "./types.ts";

/** The options of a write as admission sees them: what the client gave. */
export function admissionOptions(call: InternalCall, kind: "CreateOptions" | "UpdateOptions"): Record<string, unknown> {
  const { query } = call;
  const given = (name: string) => (query.get(name) ? { [name]: query.get(name) } : {});
  return {
    kind,
    apiVersion: "meta.k8s.io/v1",
    ...(query.get("dryRun") && { dryRun: query.getAll("dryRun") }),
    ...given("fieldManager"),
    ...given("fieldValidation"),
  };
}

/** The namespace of the path is the object's; another one in the body is refused. */
export function placeInNamespace(call: InternalCall, object: KubeObject): void {
  const { type, namespace } = call.target;
  object.metadata ??= {} as KubeObject["metadata"];
  if (!type.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (object.metadata.namespace && object.metadata.namespace !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  object.metadata.namespace = namespace;
}

/** Facts of a call that the bookkeeping of managed fields needs. */
export function fieldsRequest(core: Core, call: InternalCall, options: WriteOptions) {
  const { type, version, subresource } = call.target;
  return {
    view: version.view,
    empty: version.empty,
    manager: options.fieldManager,
    subresource,
    apiVersion: apiVersionOf(type.group, version.version),
    time: timestamp(core.now()),
  };
}

/** Fields, dotted, that a subresource may not write, so that nobody owns them through it. */
export function resetFields(call: InternalCall): string[] {
  const { type, version, subresource } = call.target;
  if (!version.subresources.some((sub) => sub.name === "status")) return [];
  if (subresource === "status") return type.kind === "Deployment" ? ["spec", "metadata.labels"] : ["spec"];
  return ["status"];
}

/** kube-apiserver stores what was applied, and reads it back. */
export const settle = ({ strategy }: ResourceType, object: KubeObject, isApplied: boolean): KubeObject =>
  isApplied ? (strategy.settleApplied?.(object) ?? object) : object;

/** Stored objects whose next write is a new version in any case; see `Change.make`. */
const unsettled = new WeakSet<KubeObject>();

export function markUnsettled(stored: KubeObject): void {
  unsettled.add(stored);
}

export function unsettle(core: Core, { target }: InternalCall, { metadata }: KubeObject): void {
  const stored = core.store.table(target.type.storageKey).find(metadata.namespace ?? "", metadata.name);
  if (stored) markUnsettled(stored);
}

/** Whether the next write of this stored object is a new version in any case. */
export function isUnsettled(stored: KubeObject): boolean {
  return unsettled.has(stored);
}
