// Write calls of a client: create, update, patch, apply, delete.
import type { KubeObject, ObjectKey } from "../api/object.ts";
import { apiVersionOf, resourcePath, type ResourceRef } from "../api/resource-ref.ts";
import type { DeleteOptions, Draft, KubeClient, WriteOptions } from "./client.ts";
import type { Status } from "./errors.ts";
import type { Query, Send } from "./outgoing-request.ts";

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

type ObjectCalls = Pick<KubeClient, "create" | "update" | "updateStatus">;
type PatchCalls = Pick<KubeClient, "patch" | "apply">;
type ToQuery = (options?: WriteOptions) => Query;

/** `defaultManager` is the field manager of writes that name none. */
export function createWriteCalls(
  send: Send,
  defaultManager: string | undefined,
): ObjectCalls & PatchCalls & Pick<KubeClient, "delete"> {
  const toQuery: ToQuery = (options = {}) => ({
    fieldManager: options.fieldManager ?? defaultManager,
    fieldValidation: options.fieldValidation ?? "Strict",
    dryRun: options.dryRun ? "All" : undefined,
  });
  return { ...createObjectCalls(send, toQuery), ...createPatchCalls(send, toQuery), delete: createDelete(send) };
}

function createObjectCalls(send: Send, toQuery: ToQuery): ObjectCalls {
  const put = <T extends KubeObject>(
    ref: ResourceRef<T>,
    object: Draft,
    subresource: string | undefined,
    options?: WriteOptions,
  ) =>
    send<T>({
      method: "PUT",
      path: resourcePath(ref, { ...keyOfDraft(object), ...(subresource && { subresource }) }),
      query: toQuery(options),
      body: complete(ref, object),
      call: options,
    });
  return {
    create: <T extends KubeObject>(ref: ResourceRef<T>, object: Draft, options?: WriteOptions) =>
      send<T>({
        method: "POST",
        path: resourcePath(ref, { ...(object.metadata.namespace && { namespace: object.metadata.namespace }) }),
        query: toQuery(options),
        body: complete(ref, object),
        call: options,
      }),
    update: (ref, object, options) => put(ref, object, undefined, options),
    updateStatus: (ref, object, options) => put(ref, object, "status", options),
  };
}

function createPatchCalls(send: Send, toQuery: ToQuery): PatchCalls {
  return {
    patch: (ref, key, patch, options) =>
      send({
        method: "PATCH",
        path: resourcePath(ref, { ...key, ...(options?.subresource && { subresource: options.subresource }) }),
        query: toQuery(options),
        body: patch.body,
        contentType: PATCH_TYPES[patch.type],
        call: options,
      }),
    apply: (ref, object, options) =>
      send({
        method: "PATCH",
        path: resourcePath(ref, {
          ...keyOfDraft(object),
          ...(options.subresource && { subresource: options.subresource }),
        }),
        query: { ...toQuery(options), force: options.force ? true : undefined },
        body: complete(ref, object),
        contentType: "application/apply-patch+yaml",
        call: options,
      }),
  };
}

function createDelete(send: Send): KubeClient["delete"] {
  return <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, options: DeleteOptions = {}) => {
    const { propagationPolicy = "Background", preconditions, gracePeriodSeconds, dryRun, ...call } = options;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy,
      ...(preconditions && { preconditions }),
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(dryRun && { dryRun: ["All"] }),
    };
    return send<T | Status>({ method: "DELETE", path: resourcePath(ref, key), body, call });
  };
}

function keyOfDraft(object: Draft): ObjectKey {
  if (!object.metadata.name) throw new TypeError(`this ${object.kind ?? "object"} has no name`);
  return { name: object.metadata.name, ...(object.metadata.namespace && { namespace: object.metadata.namespace }) };
}

function complete(ref: ResourceRef, object: Draft): Draft {
  return { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind };
}
