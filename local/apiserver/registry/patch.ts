// The verb patch: JSON patch, merge patch, strategic merge patch, and server-side apply.
import type { KubeObject } from "../../../kube/api/object.ts";
import { applyConfiguration } from "../apply/managed.ts";
import { isMap } from "../apply/values.ts";
import { badRequest, conflict, failure, invalid, StatusError, unsupportedMedia } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { copyOf } from "../storage/store.ts";
import { jsonPatch } from "../patch/json-patch.ts";
import { mergePatch } from "../../../kube/api/merge-patch.ts";
import { strategicMerge } from "../patch/strategic.ts";
import { createDecoded } from "./create.ts";
import { namedOf, type Core, type InternalCall, reportFaults, type WriteOptions, writeOptions } from "./core.ts";
import { change, CREATING } from "./update.ts";
import type { Decoded, ResourceType, VersionType } from "./types.ts";
import { fieldsRequest, placeInNamespace, resetFields } from "./write-rules.ts";

export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";

/** Patch types that a resource takes, in the order error messages list them. */
export function patchTypes(type: ResourceType): string[] {
  return type.builtin
    ? [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
    : [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];
}

export interface Patched {
  object: KubeObject;
  created: boolean;
}

/** Patches an object (or its status); apply creates what is missing. @param mediaType without parameters. */
export async function patch(core: Core, call: InternalCall, mediaType: string, body: unknown): Promise<Patched> {
  const { type, version } = call.target;
  if (!patchTypes(type).includes(mediaType))
    throw failure(
      415,
      "UnsupportedMediaType",
      mediaType === STRATEGIC_PATCH ? unsupportedMedia(patchTypes(type)).message : "415: Unsupported Media Type",
      mediaType === STRATEGIC_PATCH ? {} : { details: {} },
    );
  const options = writeOptions(call, "PatchOptions", mediaType === APPLY_PATCH);
  if (mediaType === APPLY_PATCH) return apply(core, call, options, body);
  const object = await change(core, call, options, {
    retry: true,
    isPatch: true,
    make: (current) => {
      const result = patched(version, mediaType, { current, patch: body });
      const refuse = refusalOf(JSON.stringify(result));
      if (type.builtin) {
        result.kind ||= type.kind;
        if (!result.apiVersion && mediaType !== STRATEGIC_PATCH) throw refusalOfInternal(call, options, result, refuse);
        result.apiVersion ||= current.apiVersion;
        checkKind(call, result);
      }
      const decoded = decodePatched(type, version, result, refuse);
      reportFaults(call, options, decoded.faults, refuse);
      placeInNamespace(call, decoded.object);
      checkIdentity(call, decoded.object);
      return { object: decoded.object };
    },
  });
  return { object, created: false };
}

/** kube-apiserver reads what has no version as its own internal form, in which no field has the name that clients know. */
function refusalOfInternal(
  call: InternalCall,
  options: WriteOptions,
  object: KubeObject,
  refuse: (message: string) => StatusError,
): StatusError {
  const { type, name } = call.target;
  if (object.kind !== type.kind)
    return refuse(
      `no kind ${JSON.stringify(object.kind)} is registered for the internal version of group ${JSON.stringify(type.group)} in scheme "pkg/runtime/scheme.go:110"`,
    );
  const { apiVersion: _none, kind: _kind, ...fields } = object;
  reportFaults(
    call,
    options,
    Object.keys(fields).map((field) => `unknown field "${field}"`),
    refuse,
  );
  return nameless(name);
}

/** Errors in the patched object quote the whole object. */
export function refusalOf(text: string): (message: string) => StatusError {
  return (message) => invalid({ group: "", kind: "" }, "", [invalidValue("patch", text, message)]);
}

function decodePatched(
  type: ResourceType,
  version: VersionType,
  result: KubeObject,
  refuse: (message: string) => StatusError,
): Decoded {
  try {
    return type.strategy.decode(result, version);
  } catch (error) {
    if (error instanceof StatusError && error.body.code === 400)
      throw refuse(error.message.replace(/^.* cannot be handled as a \w+: /, ""));
    throw error;
  }
}

/** Typed kinds need not say which they are. */
const isTyped = (version: Pick<VersionType, "empty">) => version.empty !== undefined;

/** The patched copy of an object. */
export function patched(
  version: Pick<VersionType, "view" | "empty">,
  mediaType: string,
  { current, patch: body }: { current: KubeObject; patch: unknown },
): KubeObject {
  if (mediaType === JSON_PATCH) {
    const result = jsonPatch(copyOf(current), body);
    if (!result.kind && !isTyped(version))
      throw refusalOf(JSON.stringify(result))(`Object 'Kind' is missing in '${JSON.stringify(result)}'`);
    return result;
  }
  if (!isMap(body)) throw badRequest("the patch is not an object");
  const result = mediaType === MERGE_PATCH ? mergePatch(current, body) : strategicMerge(version.view, current, body);
  return JSON.parse(JSON.stringify(result)) as KubeObject;
}

function checkIdentity(call: InternalCall, object: KubeObject): void {
  const { name, type, version } = call.target;
  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  checkName(object, name);
  // Custom resources of another kind are refused by their rules.
  if (!type.builtin && object.apiVersion === apiVersion) return;
  checkKind(call, object);
  if (object.apiVersion !== apiVersion)
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
}

function checkKind({ target: { type } }: InternalCall, object: KubeObject): void {
  if (object.kind !== type.kind)
    throw refusalOf(JSON.stringify(object))(
      `no kind ${JSON.stringify(object.kind)} is registered for version ${JSON.stringify(object.apiVersion)} in scheme "pkg/runtime/scheme.go:110"`,
    );
}

const nameless = (name: string) =>
  badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);

function checkName({ metadata }: KubeObject, name: string): void {
  if (!metadata.name) throw nameless(name);
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

async function apply(core: Core, call: InternalCall, options: WriteOptions, body: unknown): Promise<Patched> {
  const { type, name, namespace, subresource } = call.target;
  if (!isMap(body)) throw badRequest("error decoding YAML: the configuration is not an object");
  const sent = body as unknown as KubeObject;
  checkApplied(call, sent);
  const applied = (current: KubeObject | undefined) => {
    const object = applyTo(core, call, options, { sent, current });
    return {
      object,
      managed: true,
      rewrites: hasEmptyMetadata(sent, object) || (subresource === "status" && sent.status === null),
    };
  };
  const exists = core.store.table(type.storageKey).find(namespace, name) !== undefined;
  if (exists || !(subresource === "" || (type.strategy.createsOnUpdate && CREATING.has(subresource))))
    return {
      object: await change(core, call, options, {
        retry: !sent.metadata?.resourceVersion,
        isPatch: true,
        make: applied,
      }),
      created: false,
    };
  const made = applied(undefined);
  if (sent.metadata?.uid)
    throw conflict(
      namedOf(type),
      name,
      `uid mismatch: the provided object specified uid ${sent.metadata.uid}, and no existing object was found`,
    );
  call.checkCreate?.();
  return { object: await createDecoded(core, call, made, options), created: true };
}

function decodeResult({ strategy, builtin }: ResourceType, version: VersionType, result: KubeObject): KubeObject {
  try {
    return (strategy.decodeApplied ?? strategy.decode)(result, version).object;
  } catch (error) {
    if (builtin && error instanceof StatusError && error.body.code === 400)
      throw failure(500, "", `failed to convert new typed object: ${error.message}`);
    throw error;
  }
}

/** kube-apiserver stores these as they were applied and shows them as absent: the next write of the object, whatever it says, is a new version. */
function hasEmptyMetadata({ metadata }: KubeObject, result: KubeObject): boolean {
  return (["labels", "annotations", "finalizers", "ownerReferences"] as const).some((field) => {
    const value = (metadata as unknown as Record<string, unknown> | undefined)?.[field];
    const isEmpty = Object.keys(value ?? {}).length === 0 && result.metadata[field] === undefined;
    return typeof value === "object" && (isEmpty || Object.values(value ?? {}).includes(null));
  });
}

function applyTo(
  core: Core,
  call: InternalCall,
  options: WriteOptions,
  { sent, current }: { sent: KubeObject; current: KubeObject | undefined },
): KubeObject {
  const { type, version, name } = call.target;
  const config = structuredClone(sent);
  config.metadata ??= {} as KubeObject["metadata"];
  const result = applyConfiguration(
    {
      ...fieldsRequest(core, call, options),
      reset: resetFields(call),
      force: options.force === true,
      gvk: gvkText(sent),
    },
    current,
    config,
  );
  const object = decodeResult(type, version, JSON.parse(JSON.stringify(result)) as KubeObject);
  // A status that is asked to be nothing is none; one that lost its last field stays null, and is refused.
  if (sent.status === null && object.status === null) delete object.status;
  reportFaults(call, options, [], (message) => badRequest(`error strict decoding YAML: ${message}`));
  placeInNamespace(call, object);
  checkName(object, name);
  return object;
}

/** `group/version, Kind=kind`, with an empty group for core. */
function gvkText(sent: { apiVersion?: unknown; kind?: unknown }): string {
  const [apiVersion = "", kind = ""] = [sent.apiVersion, sent.kind].map((part) =>
    typeof part === "string" ? part : "",
  );
  return `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

function checkApplied(call: InternalCall, sent: KubeObject): void {
  const { type, version } = call.target;
  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  if (sent.apiVersion !== apiVersion || sent.kind !== type.kind)
    throw badRequest(`invalid object type: ${gvkText(sent)}`);
  if (sent.metadata !== undefined && sent.metadata !== null && !isMap(sent.metadata))
    throw badRequest("metadata must be an object");
}
