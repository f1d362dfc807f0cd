// The scale subresource: one Scale object over the replica fields of any scalable kind.
import type { KubeObject } from "../../../kube/api/object.ts";
import { applyConfiguration, trackUpdate } from "../apply/managed.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import { badRequest, internal, invalid, StatusError } from "../status.ts";
import { invalidValue } from "../field-errors.ts";
import { copyOf } from "../storage/store.ts";
import { type Core, currentOf, type Face, type InternalCall, shown, type WriteOptions, writeOptions } from "./core.ts";
import { builtinView } from "../builtin/schemas.ts";
import { decodeTyped } from "../builtin/decode.ts";
import { APPLY_PATCH, patched, refusalOf } from "./patch.ts";
import { toParentFields, toScaleFields } from "./scale-fields.ts";
import type { ScalePaths } from "./types.ts";
import { change } from "./update.ts";
import { fieldsRequest, unsettle } from "./write-rules.ts";

const SCALE = "io.k8s.api.autoscaling.v1.Scale";

function at(object: unknown, path: string[]): unknown {
  let value = object;
  for (const key of path) value = isMap(value) ? value[key] : undefined;
  return value;
}

function put(object: KubeObject, path: string[], value: unknown): void {
  let map: JsonMap = object;
  for (const key of path.slice(0, -1)) map = (isMap(map[key]) ? map[key] : (map[key] = {})) as JsonMap;
  const last = path.at(-1);
  if (last !== undefined) map[last] = value;
}

function selectorText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const labels = isMap(value) ? (isMap(value.matchLabels) ? value.matchLabels : undefined) : undefined;
  return (
    labels &&
    Object.entries(labels)
      .map(([key, each]) => `${key}=${String(each)}`)
      .join(",")
  );
}

/** @param strict refuses objects that have no replicas: a read does, a write sets them. */
function toScale(object: KubeObject, paths: ScalePaths, strict: boolean): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = at(object, paths.specReplicas);
  if (replicas === undefined && strict)
    throw internal(`the spec replicas field ".${paths.specReplicas.join(".")}" does not exist`);
  const selector = paths.selector && selectorText(at(object, paths.selector));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { ...(replicas !== undefined && replicas !== 0 && { replicas }) },
    status: { replicas: Number(at(object, paths.statusReplicas) ?? 0), ...(selector && { selector }) },
  };
}

function pathsOf(call: InternalCall): ScalePaths {
  const paths = call.target.version.scale;
  if (!paths) throw badRequest("the resource has no scale");
  return paths;
}

export function getScale(core: Core, call: InternalCall): KubeObject {
  return toScale(shown(call, currentOf(core, call.target)), pathsOf(call), true);
}

/** Admission's view of a write of the scale. */
function faceOf(paths: ScalePaths): Face {
  return {
    gvk: { group: "autoscaling", version: "v1", kind: "Scale" },
    show: (object) => toScale(object, paths, false),
    take: (object, scale) => put(object, paths.specReplicas, at(scale, ["spec", "replicas"]) ?? 0),
  };
}

function decodeScale(scale: KubeObject, isPatched: boolean): void {
  try {
    decodeTyped(builtinView(SCALE), scale, "Scale", "v1");
  } catch (error) {
    if (isPatched && error instanceof StatusError)
      throw refusalOf(JSON.stringify(scale))(error.message.replace(/^.* cannot be handled as a Scale: /, ""));
    throw error;
  }
}

/** The Scale as the request leaves it, with its owners. */
function scaleOf(
  core: Core,
  call: InternalCall,
  options: WriteOptions,
  { live, mediaType, body }: { live: KubeObject; mediaType: string | undefined; body: unknown },
): KubeObject {
  const view = builtinView(SCALE);
  const request = { ...fieldsRequest(core, call, options), view, apiVersion: "autoscaling/v1", reset: [] };
  if (mediaType === APPLY_PATCH) {
    const sent = body as KubeObject;
    return applyConfiguration(
      { ...request, force: options.force === true, gvk: "autoscaling/v1, Kind=Scale" },
      live,
      structuredClone(sent),
    );
  }
  const scale = mediaType
    ? patched({ view }, mediaType, { current: live, patch: body })
    : (structuredClone(body) as KubeObject);
  decodeScale(scale, mediaType !== undefined);
  const spec = scale.spec as { replicas?: number } | undefined;
  if (spec?.replicas === 0) delete spec.replicas;
  trackUpdate(request, live, scale);
  return scale;
}

/** The object with the number of replicas and the managers of its Scale. */
function scaled(
  current: KubeObject,
  { metadata }: KubeObject,
  { path, replicas }: { path: Parameters<typeof put>[1]; replicas: number },
): KubeObject {
  const next = copyOf(current);
  put(next, path, replicas);
  next.metadata.resourceVersion = metadata.resourceVersion ?? current.metadata.resourceVersion;
  if (metadata.uid) next.metadata.uid = metadata.uid;
  const owners = toParentFields(current.metadata.managedFields, metadata.managedFields, {
    path,
    apiVersion: current.apiVersion,
  });
  if (owners) next.metadata.managedFields = owners;
  else delete next.metadata.managedFields;
  return next;
}

/** Replaces (no media type) or patches the Scale of an object. */
export async function writeScale(
  core: Core,
  onObject: InternalCall,
  mediaType: string | undefined,
  body: unknown,
): Promise<KubeObject> {
  const paths = pathsOf(onObject);
  const call = { ...onObject, face: faceOf(paths) };
  const options = writeOptions(call, mediaType ? "PatchOptions" : "UpdateOptions", mediaType === APPLY_PATCH);
  currentOf(core, call.target);
  const isPinned =
    mediaType === undefined && isMap(body) && isMap(body.metadata) && Boolean(body.metadata.resourceVersion);
  let isCompleted = false;
  const object = await change(core, call, options, {
    retry: !isPinned,
    make: (current) => {
      const live = toScale(current, paths, false);
      const entries = toScaleFields(current.metadata.managedFields, paths.specReplicas);
      if (entries) live.metadata.managedFields = entries;
      const scale = scaleOf(core, call, options, { live, mediaType, body });
      const replicas = at(scale, ["spec", "replicas"]) ?? 0;
      if (typeof replicas !== "number" || (replicas < 0 && call.target.type.builtin))
        throw invalid({ group: "autoscaling", kind: "Scale" }, call.target.name, [
          invalidValue("spec.replicas", replicas, "must be greater than or equal to 0"),
        ]);
      const next = scaled(current, scale, { path: paths.specReplicas, replicas });
      return { object: next, managed: true };
    },
    // The rules see the scaled object without defaults.
    complete(next) {
      const before = JSON.stringify(next);
      call.target.type.strategy.decodeApplied?.(next, call.target.version);
      isCompleted = JSON.stringify(next) !== before;
    },
  });
  // kube-apiserver stores it without them, and with its next write.
  if (isCompleted) unsettle(core, call, object);
  return toScale(object, paths, false);
}
