// KubeError, the only error of the Kubernetes client, and its predicates. Match on code and reason, never on text.

/** `metav1.Status` as the server sends it for a failure (and for some deletes). */
export interface Status {
  apiVersion: "v1";
  kind: "Status";
  status?: "Success" | "Failure";
  code?: number;
  reason?: string;
  message?: string;
  details?: StatusDetails;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

/**
 * A request that the server rejected or never answered.
 * `code` is the HTTP status; 0 means no response (connection refused, deadline, abort), with details in `cause`.
 */
export class KubeError extends Error {
  readonly code: number;
  /** The server's reason, e.g. NotFound, AlreadyExists, Conflict, Invalid, Forbidden, Expired; "Unreachable", "Deadline" or "Aborted" when code is 0. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** Seconds to wait, from the server's Retry-After. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: Omit<Status, "apiVersion" | "kind">,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(status.message ?? status.reason ?? `Kubernetes API answered ${status.code ?? 0}`, { cause: options.cause });
    this.name = "KubeError";
    this.code = status.code ?? 0;
    this.reason = status.reason ?? "";
    this.details = status.details;
    this.retryAfterSeconds = options.retryAfterSeconds ?? status.details?.retryAfterSeconds;
  }
}

const is = (error: unknown, test: (error: KubeError) => boolean): error is KubeError =>
  error instanceof KubeError && test(error);

/** 404: the object does not exist. An unknown kind is 404 too; see isNoKind. */
export const isNotFound = (error: unknown): error is KubeError => is(error, (e) => e.code === 404);
/** 404 without a name in the details: the server does not serve this kind (yet). Meaningful for lists, watches and creates only. */
export const isNoKind = (error: unknown): error is KubeError => is(error, (e) => e.code === 404 && !e.details?.name);
/** 409 AlreadyExists. */
export const isAlreadyExists = (error: unknown): error is KubeError =>
  is(error, (e) => e.code === 409 && e.reason === "AlreadyExists");
/** 409 except AlreadyExists: a resourceVersion, precondition or field manager conflict. */
export const isConflict = (error: unknown): error is KubeError =>
  is(error, (e) => e.code === 409 && e.reason !== "AlreadyExists");
/** 403: RBAC or admission rejected the request. */
export const isForbidden = (error: unknown): error is KubeError => is(error, (e) => e.code === 403);
/** 403: nothing new may be in a namespace that is being deleted. */
export const isNamespaceTerminating = (error: unknown): error is KubeError =>
  isForbidden(error) && (error.details?.causes ?? []).some(({ reason }) => reason === "NamespaceTerminating");
/** 401: no credential, or an invalid one. */
export const isUnauthorized = (error: unknown): error is KubeError => is(error, (e) => e.code === 401);
/** 422: the object is invalid (schema, CEL rule, admission policy). */
export const isInvalid = (error: unknown): error is KubeError => is(error, (e) => e.code === 422);
/** 410: the resourceVersion or continue token is too old. */
export const isGone = (error: unknown): error is KubeError => is(error, (e) => e.code === 410);
/** No response: connection refused or broken, or deadline exceeded. The write may have happened. */
export const isUnreachable = (error: unknown): error is KubeError => is(error, (e) => e.code === 0);
