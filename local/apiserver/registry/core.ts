// Types and options that all verbs of the registry share.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { AdmissionRequest, FieldError, GroupVersionKind, WebhookAdmission } from "../types.ts";
import { forbiddenField, invalidValue, notSupported, required, tooLong } from "../field-errors.ts";
import { badRequest, failure, forbidden, invalid, notFound, StatusError, type Named } from "../status.ts";
import type { Store } from "../storage/store.ts";
import type { Catalogue } from "./catalogue.ts";
import { fromStored } from "./convert.ts";
import type { Call, ResourceType, Target } from "./types.ts";

export interface Core {
  store: Store;
  catalogue: Catalogue;
  /** Throws StatusError when a write is refused; returns warnings. Not called for the server's own writes. */
  admit: (request: AdmissionRequest) => Promise<string[]>;
  /** Mutation of an object before it is judged. Not called for the server's own writes. */
  mutate: WebhookAdmission["mutate"];
  /** Milliseconds. */
  now: () => number;
  newUid: () => string;
  random: () => number;
}

/** Another form of an object, as a subresource shows it. */
export interface Face {
  gvk: GroupVersionKind;
  show: (object: KubeObject) => KubeObject;
  /** Copies changes of the form back into the object, in place. */
  take: (object: KubeObject, shown: KubeObject) => void;
}

/** A call made by the server itself: no admission. */
export interface InternalCall extends Call {
  internal?: boolean;
  /** A subresource that shows an object of another kind: admission sees that. */
  face?: Face;
  /** An object of a deletecollection: admission gets no name, as the request had none. */
  isCollection?: boolean;
  /** Throws 403 unless the caller may also create: apply may turn out to be a create. */
  checkCreate?: () => void;
}

export interface WriteOptions {
  dryRun: boolean;
  fieldManager: string;
  fieldValidation: "Ignore" | "Warn" | "Strict";
  force: boolean | undefined;
}

const MANAGER_LIMIT = 128;

/** Reads the options of a write from its query; throws 422 as kube-apiserver does. */
export function writeOptions(
  call: Call,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions",
  isApply = false,
): WriteOptions {
  const { query } = call;
  const dryRuns = query.getAll("dryRun").filter((value) => value !== "");
  const validation = query.get("fieldValidation") || "Warn";
  const errors = [];
  if (dryRuns.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRuns, ["All"]));
  if (!["Ignore", "Warn", "Strict"].includes(validation))
    errors.push(notSupported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]));
  const named = query.get("fieldManager") ?? "";
  errors.push(...managerErrors(named));
  if (kind === "PatchOptions") errors.unshift(...patchOptionErrors(call, isApply));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, "", errors);
  const force = query.get("force");
  return {
    dryRun: dryRuns.length > 0,
    fieldManager: named || managerOf(call.userAgent),
    fieldValidation: validation as WriteOptions["fieldValidation"],
    force: force === null ? undefined : force !== "false",
  };
}

function managerErrors(name: string): FieldError[] {
  const at = [...name].findIndex((character) => /\p{C}/u.test(character));
  const unprintable = [...name][at]?.codePointAt(0) ?? 0;
  return [
    ...(Buffer.byteLength(name) > MANAGER_LIMIT ? [tooLong("fieldManager", MANAGER_LIMIT)] : []),
    ...(at < 0
      ? []
      : [
          invalidValue(
            "fieldManager",
            name,
            `invalid character U+${unprintable.toString(16).toUpperCase().padStart(4, "0")} (at position ${at})`,
          ),
        ]),
  ];
}

/** Apply needs a manager by name; `force` is for apply alone. */
function patchOptionErrors(call: Call, isApply: boolean): FieldError[] {
  const errors = [];
  if (isApply && !call.query.get("fieldManager")) errors.push(required("fieldManager", "is required for apply patch"));
  if (!isApply && call.query.get("force") !== null)
    errors.push(forbiddenField("force", "may not be specified for non-apply patch"));
  return errors;
}

function managerOf(userAgent: string): string {
  return (userAgent.split("/")[0] ?? "").replace(/[^\x20-\x7e]/g, "").slice(0, MANAGER_LIMIT) || "unknown";
}

/** Whole seconds, as `metadata` keeps times. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export function namedOf(type: ResourceType): Named {
  return { group: type.group, resource: type.resource };
}

/** The stored object that a call names; throws 404. */
export function currentOf(core: Core, target: Target): KubeObject {
  const found = core.store.table(target.type.storageKey).find(target.namespace, target.name);
  if (!found) throw notFound(namedOf(target.type), target.name);
  return found;
}

/** As the version of the call shows it. */
export function shown(call: Call, object: KubeObject): KubeObject {
  return fromStored(call.target.type, object, call.target.version.version);
}

export interface AdmissionParts {
  operation: AdmissionRequest["operation"];
  object?: KubeObject;
  oldObject?: KubeObject;
  dryRun: boolean;
  options?: Record<string, unknown>;
}

function requestOf(core: Core, call: InternalCall, name: string, parts: AdmissionParts): AdmissionRequest {
  const { type, version, namespace, subresource } = call.target;
  const namespaceObject = namespace ? core.store.table("/namespaces").find("", namespace) : undefined;
  return {
    user: call.user,
    gvr: { group: type.group, version: version.version, resource: type.resource },
    gvk: call.face?.gvk ?? { group: type.group, version: version.version, kind: type.kind },
    subresource,
    namespace,
    name: call.isCollection ? "" : name,
    pathName: call.target.name,
    namespaceObject,
    versions: type.versions.map((each) => each.version),
    ...parts,
    ...facing(call, parts),
  };
}

function facing(
  { face }: InternalCall,
  { object, oldObject }: AdmissionParts,
): Pick<AdmissionParts, "object" | "oldObject"> {
  if (!face) return {};
  return { object: object && face.show(object), oldObject: oldObject && face.show(oldObject) };
}

/** Asks admission about a write of this call; warnings go to the call. */
export async function admit(core: Core, call: InternalCall, name: string, parts: AdmissionParts): Promise<void> {
  if (call.internal) return;
  try {
    call.warnings.push(...(await core.admit(requestOf(core, call, name, parts))));
  } catch (error) {
    if (error instanceof StatusError) call.warnings.push(...error.warnings);
    throw error;
  }
}

/** Lets admission change what a call writes; answers with the same object when nothing does. */
export async function mutate<T extends KubeObject | undefined>(
  core: Core,
  call: InternalCall,
  name: string,
  parts: AdmissionParts & { object?: T },
): Promise<T> {
  const { type, version } = call.target;
  const { face } = call;
  if (call.internal) return parts.object as T;
  const request = requestOf(core, call, name, parts);
  const { object, warnings } = await core.mutate(request, (patched) =>
    face ? patched : type.strategy.decode(patched, version).object,
  );
  call.warnings.push(...warnings);
  if (!face || !object || !parts.object) return object as T;
  if (object !== request.object) face.take(parts.object, object);
  return parts.object;
}

/** Objects can be created only in an existing namespace that is not being deleted. */
export function checkNamespace(core: Core, target: Target, name: string): void {
  if (!target.type.namespaced) return;
  const namespace = core.store.table("/namespaces").find("", target.namespace);
  if (!namespace) throw notFound({ group: "", resource: "namespaces" }, target.namespace);
  if (!namespace.metadata.deletionTimestamp) return;
  const refusal = forbidden(
    namedOf(target.type),
    name,
    `unable to create new content in namespace ${target.namespace} because it is being terminated`,
  );
  refusal.body.details = {
    ...refusal.body.details,
    causes: [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${target.namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  };
  throw refusal;
}

/** Refuses, warns of or ignores the faults of decoding, as fieldValidation says. */
export function reportFaults(
  call: Call,
  options: WriteOptions,
  faults: string[],
  refuse: (message: string) => Error,
): void {
  const all = [...call.faults, ...faults];
  if (all.length === 0 || options.fieldValidation === "Ignore") return;
  if (options.fieldValidation === "Strict") throw refuse(`strict decoding error: ${all.join(", ")}`);
  call.warnings.push(...all);
}

/** As reportFaults, for a whole object. A duplicate unknown field is reported as unknown only, as Go's decoder does. */
export function reportBodyFaults(call: Call, options: WriteOptions, faults: string[]): void {
  const { type, version } = call.target;
  const unknown = type.builtin ? faults.map(pathOf) : [];
  const repeated = call.faults.filter((fault) => !unknown.some((path) => isWithin(pathOf(fault), path)));
  reportFaults({ ...call, faults: repeated }, options, faults, (message) =>
    badRequest(
      `${type.kind} in version ${JSON.stringify(version.version)} cannot be handled as a ${type.kind}: ${message}`,
    ),
  );
}

const pathOf = (fault: string): string => fault.slice(fault.indexOf('"') + 1, -1);
const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

export const plainError = (code: number, message: string) => failure(code, "", message);

/** As checkBodyKind, for a built-in kind, whose body may omit the kind. */
export function checkTypedKind({ group, version: served, kind }: GroupVersionKind, body: KubeObject): void {
  const apiVersion = group ? `${group}/${served}` : served;
  body.kind ||= kind;
  body.apiVersion ||= apiVersion;
  if (body.apiVersion === apiVersion && body.kind === kind) return;
  const version = body.apiVersion.split("/").at(-1);
  throw badRequest(
    `${body.kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: no kind ${JSON.stringify(body.kind)} is registered for version ${JSON.stringify(body.apiVersion)} in scheme "pkg/runtime/scheme.go:110"`,
  );
}

/** The body must be of the kind that the path serves; built-in kinds may omit it. Throws 400, and 422 for a wrong kind of a CRD. */
export function checkBodyKind(
  { type, version }: Target,
  body: KubeObject,
  { fieldValidation }: Pick<WriteOptions, "fieldValidation">,
): void {
  const expected = type.group ? `${type.group}/${version.version}` : version.version;
  if (type.builtin) return checkTypedKind({ group: type.group, version: version.version, kind: type.kind }, body);
  if (!body.kind) {
    const text = JSON.stringify(body).slice(0, 1_000);
    const missing = `Object 'Kind' is missing in '${text}'`;
    if (fieldValidation === "Ignore")
      throw badRequest(
        `${type.kind} in version ${JSON.stringify(version.version)} cannot be handled as a ${type.kind}: ${missing}`,
      );
    throw badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): ${missing} (${text.length > 30 ? `${text.slice(0, 30)} ...` : text})`,
    );
  }
  if (body.apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${body.apiVersion ?? ""}) does not match the expected API version (${expected})`,
    );
}
