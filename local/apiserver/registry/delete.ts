// The verbs delete and deletecollection: preconditions, propagation, finalizers.
import { type KubeObject } from "../../../kube/object.ts";
import { invalidValue, notSupported } from "../field-errors.ts";
import { type StatusBody } from "../contract.ts";
import { conflict, invalid, modified } from "../status.ts";
import { copyOf } from "../storage/store.ts";
import { admit, type Core, currentOf, type InternalCall, namedOf, shown, timestamp } from "./core.ts";
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
  /** What the API answers with. */
  answer: KubeObject | StatusBody;
  code: number;
}

const ATTEMPTS = 5;

export function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const options: DeleteOptions = { ...(typeof body === "object" && body !== null ? (body as DeleteOptions) : {}) };
  const policy = query.get("propagationPolicy");
  if (policy) options.propagationPolicy ??= policy as Policy;
  const dryRun = query.getAll("dryRun");
  if (dryRun.length > 0) options.dryRun ??= dryRun;
  const errors = [];
  if (options.dryRun?.some((value) => value !== "All")) errors.push(notSupported("dryRun", options.dryRun[0], ["All"]));
  if (options.propagationPolicy && !["Orphan", "Background", "Foreground"].includes(options.propagationPolicy)) errors.push(notSupported("propagationPolicy", options.propagationPolicy, ["Foreground", "Background", "Orphan", ""]));
  if (options.propagationPolicy && options.orphanDependents !== undefined) errors.push(invalidValue("propagationPolicy", options.propagationPolicy, "orphanDependents and deletionPropagation cannot be both set"));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  return options;
}

/** Deletes one object, or marks it as being deleted while finalizers hold it. */
export async function remove(core: Core, call: InternalCall, options: DeleteOptions): Promise<Deleted> {
  const { target } = call;
  const { type } = target;
  const dryRun = (options.dryRun ?? []).length > 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = currentOf(core, target);
    checkPreconditions(call, options, stored);
    await admit(core, call, target.name, { operation: "DELETE", oldObject: shown(call, stored), dryRun, options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...options } });
    const next = marked(core, stored, options);
    if (isGone(next)) {
      if (dryRun || core.store.remove(type.storageKey, stored)) return { answer: type.returnsDeleted ? shown(call, next) : success(call, stored), code: 200 };
    } else {
      const isSame = stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).join() === (next.metadata.finalizers ?? []).join();
      if (dryRun || isSame) return { answer: shown(call, isSame ? stored : next), code: 200 };
      const done = core.store.put(type.storageKey, next, stored);
      if (done) return { answer: shown(call, done), code: 200 };
    }
  }
  throw modified(namedOf(type), target.name);
}

function checkPreconditions(call: InternalCall, { preconditions }: DeleteOptions, stored: KubeObject): void {
  const { type, name } = call.target;
  const { uid, resourceVersion } = stored.metadata;
  if (preconditions?.uid && preconditions.uid !== uid) {
    throw conflict(namedOf(type), name, `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`);
  }
  if (preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion) {
    throw conflict(namedOf(type), name, `Precondition failed: ResourceVersion in precondition: ${preconditions.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`);
  }
}

/** The object as a deletion leaves it. */
function marked(core: Core, stored: KubeObject, options: DeleteOptions): KubeObject {
  const next = copyOf(stored);
  const { metadata } = next;
  const policy: Policy | undefined = options.propagationPolicy ?? (options.orphanDependents === undefined ? undefined : options.orphanDependents ? "Orphan" : "Background");
  if (policy) {
    const wanted = FINALIZER_OF[policy];
    const rest = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== "orphan" && finalizer !== "foregroundDeletion");
    metadata.finalizers = wanted ? [...rest, wanted] : rest;
    if (metadata.finalizers.length === 0) delete metadata.finalizers;
  }
  if (!metadata.deletionTimestamp) {
    metadata.deletionTimestamp = timestamp(core.now());
    metadata.deletionGracePeriodSeconds = 0;
    if (metadata.generation !== undefined) metadata.generation += 1;
  }
  if (next.kind === "Namespace" && next.apiVersion === "v1") next.status = { ...(next.status as object), phase: "Terminating" };
  return next;
}

function success(call: InternalCall, stored: KubeObject): StatusBody {
  const { type, name } = call.target;
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details: { name, ...(type.group && { group: type.group }), kind: type.resource, uid: stored.metadata.uid } };
}

/** Deletes what the selectors choose; answers with the objects as they were. */
export async function removeCollection(core: Core, call: InternalCall, options: DeleteOptions): Promise<KubeObject[]> {
  const { type, namespace } = call.target;
  const { selects } = parseSelectors(call.query, type);
  const chosen = core.store.table(type.storageKey).list(namespace || undefined).filter((object) => !selects || selects(object));
  for (const object of chosen) {
    const one: InternalCall = { ...call, target: { ...call.target, namespace: object.metadata.namespace ?? "", name: object.metadata.name } };
    try {
      await remove(core, one, options);
    } catch (error) {
      // Somebody else was quicker: that is what was asked for.
      if (core.store.table(type.storageKey).find(one.target.namespace, one.target.name)) throw error;
    }
  }
  return chosen.map((object) => shown(call, object));
}
