// The verbs delete and deletecollection: preconditions, propagation, finalizers.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import { cleanTyped } from "../builtin/decode.ts";
import { TypeFault } from "../builtin/type-fault.ts";
import { builtinView } from "../builtin/schemas.ts";
import { invalidValue, notSupported } from "../field-errors.ts";
import type { FieldError, StatusBody } from "../types.ts";
import { CLEANUP } from "../crd/types.ts";
import { badRequest, conflict, failure, invalid, modified } from "../status.ts";
import { copyOf } from "../storage/store.ts";
import { admit, type Core, currentOf, type InternalCall, mutate, namedOf, shown, timestamp } from "./core.ts";
import { checkListOptions } from "./list-options.ts";
import { parseSelectors } from "./selectors.ts";
import { isGone } from "./update.ts";

type Policy = "Orphan" | "Background" | "Foreground";
const FINALIZER_OF: Partial<Record<Policy, string>> = { Orphan: "orphan", Foreground: "foregroundDeletion" };

/** DeleteOptions, from the body or the query. */
export interface DeleteOptions {
  propagationPolicy?: Policy;
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: string[];
  gracePeriodSeconds?: number;
}

export interface Deleted {
  /** The API's answer. */
  answer: KubeObject | StatusBody;
  code: number;
}

const ATTEMPTS = 5;

const SCHEMA = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/** Throws 400 on a body of the wrong type, 422 on invalid options. */
export function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  if (body !== undefined && !isMap(body)) throw badRequest("the body of a delete is not an object");
  const options: DeleteOptions = { ...body };
  checkTyped(options);
  const policy = query.get("propagationPolicy");
  if (policy) options.propagationPolicy ??= policy as Policy;
  const dryRun = query.getAll("dryRun");
  if (dryRun.length > 0) options.dryRun ??= dryRun;
  const errors = optionErrors(options);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  return options;
}

function checkTyped(options: DeleteOptions): void {
  try {
    cleanTyped(builtinView(SCHEMA), options as JsonMap);
  } catch (error) {
    if (error instanceof TypeFault) throw failure(500, "", error.message);
    throw error;
  }
}

function optionErrors({ dryRun = [], propagationPolicy, orphanDependents }: DeleteOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  if (propagationPolicy && !["Orphan", "Background", "Foreground"].includes(propagationPolicy))
    errors.push(notSupported("propagationPolicy", propagationPolicy, ["Foreground", "Background", "Orphan", "nil"]));
  if (propagationPolicy && orphanDependents !== undefined)
    errors.push(
      invalidValue(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  return errors;
}

/** Deletes one object, or marks it as being deleted while finalizers hold it. */
export async function remove(core: Core, call: InternalCall, options: DeleteOptions): Promise<Deleted> {
  const { target } = call;
  const dryRun = (options.dryRun ?? []).length > 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = currentOf(core, target);
    checkPreconditions(call, options, stored);
    const asked = {
      operation: "DELETE",
      oldObject: shown(call, stored),
      dryRun,
      options: { ...options, kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" },
    } as const;
    await mutate(core, call, target.name, asked);
    await admit(core, call, target.name, asked);
    const answer = commit(core, call, { stored, next: marked(core, stored, options), dryRun });
    if (answer) return { answer, code: 200 };
  }
  throw modified(namedOf(target.type), target.name);
}

interface Deletion {
  stored: KubeObject;
  next: KubeObject;
  dryRun: boolean;
}

/** Undefined when the object changed meanwhile. */
function commit(core: Core, call: InternalCall, { stored, next, dryRun }: Deletion): Deleted["answer"] | undefined {
  const { type } = call.target;
  if (isGone(next)) {
    const gone = dryRun ? stored : core.store.remove(type.storageKey, stored);
    return gone && (type.returnsDeleted ? shown(call, gone) : success(call, stored));
  }
  const isSame = isDeepStrictEqual(stored.metadata, next.metadata);
  if (dryRun || isSame) return shown(call, isSame ? stored : next);
  const done = core.store.put(type.storageKey, next, stored);
  return done && shown(call, done);
}

function checkPreconditions(call: InternalCall, { preconditions }: DeleteOptions, stored: KubeObject): void {
  const { type, name } = call.target;
  const { uid, resourceVersion } = stored.metadata;
  if (type.kind === "Namespace" && type.group === "") return checkNamespacePreconditions(name, preconditions, stored);
  const on = { group: type.group, resource: type.kind };
  if (preconditions?.uid && preconditions.uid !== uid) {
    throw conflict(
      on,
      name,
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  }
  if (preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion) {
    throw conflict(
      on,
      name,
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
}

/** kube-apiserver stores Namespaces separately, with a message of their own. */
function checkNamespacePreconditions(
  name: string,
  { uid, resourceVersion }: NonNullable<DeleteOptions["preconditions"]> = {},
  { metadata }: KubeObject,
): void {
  const refused = (what: string, wanted: string, found: string | undefined) =>
    conflict(
      { group: "", resource: "namespaces" },
      name,
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
    );
  if (uid && uid !== metadata.uid) throw refused("UID", uid, metadata.uid);
  if (resourceVersion && resourceVersion !== metadata.resourceVersion)
    throw refused("ResourceVersion", resourceVersion, metadata.resourceVersion);
}

/** The object as a deletion leaves it. */
function marked(core: Core, stored: KubeObject, options: DeleteOptions): KubeObject {
  const next = copyOf(stored);
  const { metadata } = next;
  setPolicy(next, options);
  if (!metadata.deletionTimestamp) {
    metadata.deletionTimestamp = timestamp(core.now());
    if (metadata.generation !== undefined) metadata.generation += 1;
    if (stored.kind === "CustomResourceDefinition") metadata.finalizers = [...(metadata.finalizers ?? []), CLEANUP];
  }
  if (stored.kind !== "Namespace") metadata.deletionGracePeriodSeconds = 0;
  if (next.kind === "Namespace" && next.apiVersion === "v1")
    next.status = { ...(next.status as object), phase: "Terminating" };
  return next;
}

/** The policy asked for, as the finalizer that stands for it. */
function setPolicy({ metadata }: KubeObject, { propagationPolicy, orphanDependents }: DeleteOptions): void {
  const policy: Policy | undefined =
    propagationPolicy ?? (orphanDependents === undefined ? undefined : orphanDependents ? "Orphan" : "Background");
  if (!policy) return;
  const wanted = FINALIZER_OF[policy];
  const rest = (metadata.finalizers ?? []).filter(
    (finalizer) => finalizer !== "orphan" && finalizer !== "foregroundDeletion",
  );
  const finalizers = wanted ? [...rest, wanted] : rest;
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
}

function success(call: InternalCall, stored: KubeObject): StatusBody {
  const { type, name } = call.target;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...(type.group && { group: type.group }), kind: type.resource, uid: stored.metadata.uid },
  };
}

/** Deletes the selected objects and answers with their last states. */
export async function removeCollection(core: Core, call: InternalCall, options: DeleteOptions): Promise<KubeObject[]> {
  const { type, namespace } = call.target;
  checkListOptions(call.query, false);
  const { selects } = parseSelectors(call.query, type);
  const chosen = core.store
    .table(type.storageKey)
    .list(namespace || undefined)
    .filter((object) => !selects || selects(object));
  for (const object of chosen) {
    const one: InternalCall = {
      ...call,
      isCollection: true,
      target: { ...call.target, namespace: object.metadata.namespace ?? "", name: object.metadata.name },
    };
    try {
      await remove(core, one, options);
    } catch (error) {
      // Another client deleted it first, which is what this request wants.
      if (core.store.table(type.storageKey).find(one.target.namespace, one.target.name)) throw error;
    }
  }
  return chosen.map((object) => shown(call, object));
}
