// The types that the parts of the API server meet through: registry, http, schema, admission, auth. Types only.
import type { KubeObject } from "../../kube/api/object.ts";

export interface GroupVersionResource {
  group: string;
  version: string;
  resource: string;
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

/** The caller. `extra` keys are lower case, as in a TokenReview. */
export interface UserInfo {
  name: string;
  uid?: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

/** The caller's credentials: parsed from the connection by http/. Header names are lower case. */
export interface Credentials {
  /** The `Authorization` header, whole. */
  authorization?: string;
  /** The client's certificate (DER), only when it was sent; NOT yet verified against any authority. */
  clientCertificate?: Uint8Array;
  /** The `Impersonate-*` headers as sent: `impersonate-user`, `impersonate-group`, `impersonate-uid`, `impersonate-extra-*`. */
  impersonate: Record<string, string[]>;
}

/** A question to the authorizer: a resource request, or with `path` a non-resource request. */
export interface AttributesRecord {
  user: UserInfo;
  verb: string;
  group: string;
  version: string;
  resource: string;
  /** "" when none. */
  subresource: string;
  /** "" for cluster scope and for all namespaces. */
  namespace: string;
  /** "" when none (list, watch, create, deletecollection), unless a metadata.name field selector names one. */
  name: string;
  /** Set for a non-resource request only; then group, resource, ... are "". */
  path?: string;
}

export interface Decision {
  allowed: boolean;
  /** kube-apiserver's reason, e.g. `RBAC: allowed by RoleBinding "x/ns" of Role "y" to User "z"`; may be "". */
  reason: string;
}

/** Decides from memory, so it is synchronous. */
export type Authorize = (attributes: AttributesRecord) => Decision;

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** Admission's view of a write. `object` is absent on DELETE, `oldObject` on CREATE. Neither may be changed. */
export interface AdmissionRequest {
  operation: Operation;
  user: UserInfo;
  gvr: GroupVersionResource;
  gvk: GroupVersionKind;
  subresource: string;
  namespace: string;
  name: string;
  /** The name in the request's path: "" for a create. Absent: `name`. */
  pathName?: string;
  object?: KubeObject;
  oldObject?: KubeObject;
  dryRun: boolean;
  /** Options of the write (CreateOptions, UpdateOptions, PatchOptions, DeleteOptions), as `request.options`. */
  options?: Record<string, unknown>;
  /** The Namespace of a namespaced object, when it exists. */
  namespaceObject?: KubeObject;
  /** All served versions of the resource, best first. */
  versions?: string[];
}

/** A `Status` as the API answers errors. */
export interface StatusBody {
  kind: "Status";
  apiVersion: "v1";
  metadata: Record<string, never>;
  status: "Success" | "Failure";
  message?: string;
  reason?: string;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: { reason?: string; message?: string; field?: string }[];
    retryAfterSeconds?: number;
  };
  code?: number;
}

/** A refusal has the warnings of the policies that only warn, too. */
export type AdmissionResult =
  { allowed: true; warnings: string[] } | { allowed: false; warnings: string[]; status: StatusBody };

/** Admission by ValidatingAdmissionPolicy. Asynchronous only because a param may have to wait for its informer. */
export interface PolicyAdmission {
  admit(request: AdmissionRequest): AdmissionResult | Promise<AdmissionResult>;
  stop(): void;
}

/** Admission by webhooks. Both throw StatusError when the write is refused and answer with warnings. */
export interface WebhookAdmission {
  /** The object as the mutating webhooks leave it; the same one when none changes it. @param decode reads a patched object as if a client had sent it. */
  mutate(
    request: AdmissionRequest,
    decode: (patched: KubeObject) => KubeObject,
  ): Promise<{ object: KubeObject | undefined; warnings: string[] }>;
  validate(request: AdmissionRequest): Promise<string[]>;
  stop(): Promise<void>;
}

export type FieldErrorReason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueNotFound"
  | "FieldValueNotSupported"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "FieldValueForbidden"
  | "FieldValueNotFound"
  | "InternalError";

/**
 * A fault of one field. `message` is the cause's message as kube-apiserver words it, without the field in front
 * (e.g. `Invalid value: "x": must be no more than 3 characters`); the Status message joins `<field>: <message>`.
 */
export interface FieldError {
  reason: FieldErrorReason;
  field: string;
  message: string;
}

/** An OpenAPI v3 schema with Kubernetes' extensions, as it stands in a CRD. */
export type JsonSchema = Record<string, unknown>;

/** How a compiled schema is to judge an object. */
export interface ValidateOptions {
  /** The schema of `status` alone, for writes of that subresource; rules see the whole object. */
  onlyStatus?: boolean;
  /** Types, bounds and formats are not asked for. */
  skipValues?: boolean;
  /** Faults found elsewhere, which decide with those of the schema whether rules can run. */
  before?: FieldError[];
  /** Faults that were told already, which decide with the others. */
  known?: FieldError[];
}

/** A structural schema of one CRD version, compiled once. Covers the root object; apiVersion, kind, metadata are left alone. */
export interface CompiledSchema {
  /** Removes unknown fields in place; returns their paths as kube-apiserver prints them (`spec.foo`, `spec.list[0].bar`). */
  prune(object: KubeObject): string[];
  /** Cleans in place what was applied, as reading a stored object does: unknown fields, the metadata of embedded objects. */
  cleanApplied(object: KubeObject): void;
  /** Sets defaults in place (also nested, also into list items), as kube-apiserver does after pruning. */
  applyDefaults(object: KubeObject): void;
  /** Sets the default of the status as a whole, if it has one, and the defaults inside it: kube-apiserver does when it reads the new object back. */
  applyStatusDefault(object: KubeObject): void;
  /** Without nulls that the schema does not allow; the same object where there are none. */
  withoutNulls(object: KubeObject): KubeObject;
  /** Types, formats, bounds, list sets and maps, CEL rules (transition rules when `old` is given). Empty = valid. */
  validate(object: KubeObject, old?: KubeObject, options?: ValidateOptions): FieldError[];
}

/** `schema/compile.ts` exports this as `compileSchema`. Throws on a schema that `checkSchema` would refuse. */
export type CompileSchema = (openAPIV3Schema: JsonSchema) => CompiledSchema;

/** `schema/check.ts` exports this as `checkSchema`: faults of a CRD's schema (not structural, CEL does not compile), with `fieldPath` in front. */
export type CheckSchema = (openAPIV3Schema: JsonSchema, fieldPath: string) => FieldError[];

/** A change that was committed. Objects are frozen by convention: never change them. */
export interface ChangeEvent {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: KubeObject;
  /** The state before; absent for ADDED. */
  oldObject?: KubeObject;
}

/** Reads the committed state in memory. Objects are shared: never change them. Versions: the stored one. */
export interface ResourceReader {
  /** `namespace` is "" for cluster-scoped kinds. */
  find(group: string, resource: string, namespace: string, name: string): KubeObject | undefined;
  /** All objects of a resource; in one namespace when given. Unknown resources are an empty list. */
  list(group: string, resource: string, namespace?: string): KubeObject[];
  /** Calls after each commit, synchronously and in order; no replay of what exists. Returns the function that ends it. */
  subscribe(group: string, resource: string, onChange: (event: ChangeEvent) => void): () => void;
  /** The resource that serves a kind, also for CRDs; undefined when not served. `version` is the preferred one. */
  findKind(group: string, kind: string): { gvr: GroupVersionResource; namespaced: boolean } | undefined;
}

/** Writes as the server itself: no authorization, no admission policy; validation, defaults and versions as for anybody. Errors are StatusError. */
export interface SystemWriter {
  create(gvr: GroupVersionResource, object: KubeObject): Promise<KubeObject>;
  /** Optimistic when the object has a resourceVersion. */
  update(gvr: GroupVersionResource, object: KubeObject): Promise<KubeObject>;
  delete(gvr: GroupVersionResource, namespace: string, name: string): Promise<void>;
}

/** A create on a resource that is not stored (reviews, tokens). */
export interface VirtualRequest {
  user: UserInfo;
  namespace: string;
  /** The parent's name, for a subresource such as serviceaccounts/token; else "". */
  name: string;
  body: KubeObject;
  dryRun: boolean;
}

/** A resource that only answers create. Authorization (verb create) was done before the call. */
export interface VirtualResource {
  gvr: GroupVersionResource;
  /** "" or e.g. "token" (then gvr is the parent's and gvk the body's). */
  subresource: string;
  gvk: GroupVersionKind;
  namespaced: boolean;
  create(request: VirtualRequest): KubeObject | Promise<KubeObject>;
}

export interface AuthDeps {
  reader: ResourceReader;
  writer: SystemWriter;
  /** Folder for keys and tokens files (mode 0600). */
  dir: string;
  /** The authority of client certificates, PEM. */
  clientCa: string;
  /** Issuer and default audience of service account tokens. */
  issuer: string;
  /** Static bearer tokens: token to user. */
  tokens: Map<string, UserInfo>;
  now: () => number;
}

/** `auth/auth.ts` exports `createAuth(deps: AuthDeps): Promise<Auth>`. */
export interface Auth {
  /**
   * The caller, impersonation applied (after its own authorization). No credentials at all: `system:anonymous` in `system:unauthenticated`.
   * Wrong credentials throw StatusError 401; refused impersonation throws 403. Adds `system:authenticated`.
   */
  authenticate(credentials: Credentials): UserInfo | Promise<UserInfo>;
  authorize: Authorize;
  /** RBAC escalation and bind checks for writes to the RBAC kinds; throws StatusError 403. Called for every write to rbac.authorization.k8s.io. */
  checkRbacWrite(request: AdmissionRequest): void;
  /** Review kinds and serviceaccounts/token. */
  virtualResources: VirtualResource[];
  /** Writes what is missing of the bootstrap ClusterRoles and bindings; starts ClusterRole aggregation. Writes nothing when all is there. */
  bootstrap(): Promise<void>;
  stop(): void;
}
