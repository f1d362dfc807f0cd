// The verb patch: JSON patch, merge patch, strategic merge patch, and server-side apply.
import { type KubeObject } from "../../../kube/object.ts";
import { applyConfiguration } from "../apply/managed.ts";
import { isMap } from "../apply/values.ts";
import { badRequest, failure, invalid, unsupportedMedia } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { copyOf } from "../storage/store.ts";
import { jsonPatch } from "../patch/json-patch.ts";
import { mergePatch } from "../patch/merge-patch.ts";
import { strategicMerge } from "../patch/strategic.ts";
import { fieldsRequest, createDecoded, placeInNamespace } from "./create.ts";
import { checkPatchOptions, type Core, type InternalCall, reportFaults, type WriteOptions, writeOptions } from "./core.ts";
import { change, resetFields } from "./update.ts";
import { type ResourceType, type VersionType } from "./types.ts";

export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";

/** Patch types that a resource takes, in the order error messages list them. */
export function patchTypes(type: ResourceType): string[] {
  return type.builtin ? [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH] : [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];
}

export interface Patched {
  object: KubeObject;
  created: boolean;
}

/** Patches an object (or its status); apply creates what is missing. @param mediaType without parameters. */
export async function patch(core: Core, call: InternalCall, mediaType: string, body: unknown): Promise<Patched> {
  const { type, version } = call.target;
  if (!patchTypes(type).includes(mediaType)) throw unsupportedMedia(patchTypes(type));
  const options = writeOptions(call, "PatchOptions");
  checkPatchOptions(call, mediaType === APPLY_PATCH);
  if (mediaType === APPLY_PATCH) return apply(core, call, options, body);
  const object = await change(core, call, options, {
    retry: true,
    make: (current) => {
      const decoded = type.strategy.decode(patched(version, mediaType, { current, patch: body }), version);
      reportFaults(call, options, decoded.faults, (message) => invalid({ group: "", kind: "" }, "", [invalidValue("patch", JSON.stringify(body), message)]));
      placeInNamespace(call, decoded.object);
      checkIdentity(call, decoded.object);
      return { object: decoded.object };
    },
  });
  return { object, created: false };
}

/** The patched copy of an object. */
export function patched(version: Pick<VersionType, "view">, mediaType: string, { current, patch: body }: { current: KubeObject; patch: unknown }): KubeObject {
  if (mediaType === JSON_PATCH) {
    const copy = copyOf(current);
    jsonPatch(copy, body);
    return copy;
  }
  if (!isMap(body)) throw badRequest("the patch is not an object");
  const result = mediaType === MERGE_PATCH ? mergePatch(current, body) : strategicMerge(version.view, current, body);
  return JSON.parse(JSON.stringify(result)) as KubeObject;
}

function checkIdentity(call: InternalCall, object: KubeObject): void {
  const { name, type, version } = call.target;
  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  if (object.metadata.name !== name) throw badRequest(`the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`);
  if (object.apiVersion !== apiVersion || object.kind !== type.kind) throw badRequest(`the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersion})`);
}

async function apply(core: Core, call: InternalCall, options: WriteOptions, body: unknown): Promise<Patched> {
  const { type, version, name, namespace, subresource } = call.target;
  if (!isMap(body)) throw badRequest("error decoding YAML: the configuration is not an object");
  const sent = body as unknown as KubeObject;
  checkApplied(call, sent);
  const described = `${namespace || ""}${namespace ? "/" : "/"}${name}; ${sent.apiVersion}, Kind=${type.kind}`;
  const applied = (current: KubeObject | undefined): KubeObject => {
    const config = structuredClone(sent);
    placeInNamespace(call, config);
    config.metadata.name ||= name;
    const result = applyConfiguration({ ...fieldsRequest(core, call, options), reset: resetFields(call), force: options.force === true, described }, current, config);
    const { object, faults } = type.strategy.decode(JSON.parse(JSON.stringify(result)) as KubeObject, version);
    reportFaults(call, options, faults, (message) => invalid({ group: "", kind: "" }, "", [invalidValue("patch", JSON.stringify(body), message)]));
    return object;
  };
  const exists = core.store.table(type.storageKey).find(namespace, name) !== undefined;
  if (!exists && subresource === "") {
    if (sent.metadata?.uid) throw failure(409, "Conflict", `Operation cannot be fulfilled on ${type.resource} "${name}": uid mismatch: the provided object specified uid ${sent.metadata.uid}, and no existing object was found`);
    call.checkCreate?.();
    return { object: await createDecoded(core, call, applied(undefined), options, true), created: true };
  }
  return { object: await change(core, call, options, { retry: !sent.metadata?.resourceVersion, make: (current) => ({ object: applied(current), managed: true }) }), created: false };
}

function checkApplied(call: InternalCall, sent: KubeObject): void {
  const { type, version, name } = call.target;
  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  if (!sent.apiVersion || !sent.kind) throw badRequest(`invalid object type: ${String(sent.apiVersion ?? "")}, Kind=${String(sent.kind ?? "")}`);
  if (sent.apiVersion !== apiVersion || sent.kind !== type.kind) throw badRequest(`invalid object type: ${sent.apiVersion}, Kind=${sent.kind}`);
  if (sent.metadata !== undefined && !isMap(sent.metadata)) throw badRequest("metadata must be an object");
  if (sent.metadata?.name && sent.metadata.name !== name) throw badRequest(`the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`);
}

