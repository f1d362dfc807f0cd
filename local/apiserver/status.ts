// Errors as the Kubernetes API words them: one function per kind of refusal, all thrown as StatusError.
import type { FieldError, StatusBody } from "./types.ts";

/** An error that has an answer: `body` is sent as it is, with `body.code` as HTTP status. */
export class StatusError extends Error {
  readonly body: StatusBody;
  /** Sent beside the refusal. */
  readonly warnings: readonly string[];
  constructor(body: StatusBody, warnings: readonly string[] = []) {
    super(body.message ?? body.reason ?? "error");
    this.name = "StatusError";
    this.body = body;
    this.warnings = warnings;
  }
}

/** Group and plural (or kind) that a message names: `deployments.apps "x" not found`. */
export interface Named {
  group: string;
  resource: string;
}

/** `<resource>.<group>`, or the resource alone in the core group. */
export function qualified({ group, resource }: Named): string {
  return group ? `${resource}.${group}` : resource;
}

type Rest = Pick<StatusBody, "details">;

/** Any failure. Prefer the named functions below. */
export function failure(code: number, reason: string, message: string, rest: Rest = {}): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason && { reason }),
    ...rest,
    code,
  });
}

function detailsOf(on: Named, name: string): StatusBody["details"] {
  return { ...(name && { name }), ...(on.group && { group: on.group }), kind: on.resource };
}

export const notFound = (on: Named, name: string) =>
  failure(404, "NotFound", `${qualified(on)} "${name}" not found`, { details: detailsOf(on, name) });

/** An unknown resource of a known group version. */
export const noSuchPath = () =>
  failure(404, "NotFound", "the server could not find the requested resource", { details: {} });

/** The existing object, and whether the name was to be generated. */
export const alreadyExists = (on: Named, name: string, { isLeaving = false, isGenerated = false } = {}) =>
  failure(
    409,
    "AlreadyExists",
    `${isLeaving ? "object is being deleted: " : ""}${qualified(on)} "${name}" already exists${isGenerated ? ", the server was not able to generate a unique name for the object" : ""}`,
    {
      details: { ...detailsOf(on, name), ...(isGenerated && { retryAfterSeconds: 1 }) },
    },
  );

export const conflict = (on: Named, name: string, why: string) =>
  failure(409, "Conflict", `Operation cannot be fulfilled on ${qualified(on)} "${name}": ${why}`, {
    details: detailsOf(on, name),
  });

export const modified = (on: Named, name: string) =>
  conflict(on, name, "the object has been modified; please apply your changes to the latest version and try again");

export const badRequest = (message: string) => failure(400, "BadRequest", message);

export const unauthorized = () => failure(401, "Unauthorized", "Unauthorized");

/** `forbidden({group, resource}, name, why)`: `pods "x" is forbidden: why`. */
export const forbidden = (on: Named, name: string, why: string) =>
  failure(403, "Forbidden", `${qualified(on)}${name ? ` "${name}"` : ""} is forbidden: ${why}`, {
    details: detailsOf(on, name),
  });

export const forbiddenPath = (message: string) => failure(403, "Forbidden", message, { details: {} });

export const methodNotAllowed = () =>
  failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", { details: {} });

export const unsupportedMedia = (accepted: string[]) =>
  failure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

export const notAcceptable = (accepted: string[]) =>
  failure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${accepted.join(", ")}`, {
    details: {},
  });

export const tooLarge = (limit: number) =>
  failure(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`);

/** The caller sends more at once than its share. */
export const tooManyRequests = () =>
  failure(429, "TooManyRequests", "too many requests, please try again later", { details: { retryAfterSeconds: 1 } });

/** The version asked for is no longer in the history. */
export const expired = (message: string) => failure(410, "Expired", message);

/** The write was not stored; reads go on. */
export const diskFull = () =>
  failure(
    507,
    "InsufficientStorage",
    "the disk that holds the state of this API server is full: nothing was stored. Free some space, then try again",
  );

export const internal = (message: string) =>
  failure(500, "InternalError", `Internal error occurred: ${message}`, { details: { causes: [{ message }] } });

/** 422: `Kind.group "name" is invalid: ...`, the causes one by one. `on.resource` is the kind here. */
export function invalid(on: { group: string; kind: string }, name: string, errors: FieldError[]): StatusError {
  const lines = [...new Set(errors.map((error) => (error.field ? `${error.field}: ${error.message}` : error.message)))];
  const joined = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return failure(
    422,
    "Invalid",
    `${qualified({ group: on.group, resource: on.kind })} "${name}" is invalid: ${joined}`,
    {
      details: {
        ...(name && { name }),
        ...(on.group && { group: on.group }),
        ...(on.kind && { kind: on.kind }),
        causes: errors,
      },
    },
  );
}

/** Answer for anything thrown: a StatusError's own body, else 500 without inner details. */
export function statusOf(error: unknown): StatusBody {
  return error instanceof StatusError ? error.body : internal("unexpected error").body;
}
