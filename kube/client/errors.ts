// The one error of the Kubernetes client: what the server's Status said, with predicates. Match on code and reason, never on text.

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
 * A request that the server refused or that never got an answer.
 * `code` is the HTTP status; 0 means no answer (refused connection, deadline, abort), and `cause` then says which.
 */
export class KubeError extends Error {
  readonly code: number;
  /** The server's word, e.g. NotFound, AlreadyExists, Conflict, Invalid, Forbidden, Expired; "Unreachable", "Deadline" or "Aborted" when code is 0. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** Seconds the server asked us to wait, when it did. */
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

/** 404: no such object. A kind that the server does not know is 404 too; see isNoKind. */
export const isNotFound = (error: unknown): error is KubeError => is(error, (e) => e.code === 404);
/** 404 without a name in the details: the server does not serve this kind (yet). Only meaningful for lists, watches and creates. */
export const isNoKind = (error: unknown): error is KubeError => is(error, (e) => e.code === 404 && !e.details?.name);
/** 409 AlreadyExists. */
export const isAlreadyExists = (error: unknown): error is KubeError =>
  is(error, (e) => e.code === 409 && e.reason === "AlreadyExists");
/** 409 for another reason than AlreadyExists: a resourceVersion, precondition or field manager conflict. */
export const isConflict = (error: unknown): error is KubeError =>
  is(error, (e) => e.code === 409 && e.reason !== "AlreadyExists");
/** 403: RBAC or admission refused. */
export const isForbidden = (error: unknown): error is KubeError => is(error, (e) => e.code === 403);
/** 401: no or an invalid credential. */
export const isUnauthorized = (error: unknown): error is KubeError => is(error, (e) => e.code === 401);
/** 422: the object is not valid (schema, CEL rule, admission policy). */
export const isInvalid = (error: unknown): error is KubeError => is(error, (e) => e.code === 422);
/** 410: the resourceVersion or continue token is too old. */
export const isGone = (error: unknown): error is KubeError => is(error, (e) => e.code === 410);
/** No answer: connection refused or broken, or deadline passed. The write may have happened. */
export const isUnreachable = (error: unknown): error is KubeError => is(error, (e) => e.code === 0);
