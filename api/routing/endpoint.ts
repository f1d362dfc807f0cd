// An endpoint as a row of data: its path, parameters, permission and handler. routing.ts serves the rows.
import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";
import type { z } from "zod";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Caller } from "../identity/caller.ts";
import type { EndpointPermission, RequiredPermission } from "../access/required-permission.ts";
import type { Session } from "../access/session.ts";

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** How the request body is read. `multipart` and `stream` leave the request unread to the handler. */
export type BodyFormat = "json" | "yaml" | "form" | "multipart" | "stream";

/** The fields of a row that do not depend on its types. */
interface EndpointBase {
  method: Method;
  permission: EndpointPermission;
  /** Other permissions that the handler asks about: those that widen or narrow the answer, and those of its writes to further kinds. */
  asks?: readonly RequiredPermission[];
  /** A line for the OpenAPI document. */
  summary?: string;
  /** Kinds that the reply may list: where permissions are reviewed, every object of them is reviewed before the handler runs. */
  lists?: readonly ResourceRef[];
  /** No object of the kind can exist: a list is empty, one by its GUID is not found. */
  isAlwaysEmpty?: true;
  /** CF answers some lists' bad queries with 422 instead of 400. */
  badQueryError?: "BadQueryParameter" | "UnprocessableEntity";
  /** CF answers some bad bodies with 400 instead of 422. */
  badBodyError?: "BadRequest";
  bodyFormat?: BodyFormat;
  /** Throws the refusals that need no body, before it is read. Rows whose body costs much to read have one. */
  guard?: (context: { session: Session; params: Record<string, string> }) => void;
  /** Deadline of the request in milliseconds; 30 s by default. */
  timeoutMs?: number;
}

/** The parameters of an Express path: `/v3/apps/:guid/processes/:type` has `guid` and `type`. */
export type PathParams<Path extends string> = string extends Path
  ? Record<string, string>
  : Record<ParamNames<Path>, string>;

type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** A request, as its handler gets it. */
export interface RequestContext<Params = Record<string, string>, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** Address of this API as the client sees it, without a trailing slash. */
  base: string;
  /** Path and query as received, normalised; list links are built from it. */
  url: string;
  /** Undefined only where nobody needs a credential. */
  caller: Caller | undefined;
  /** Reads and writes with the caller's rights. Throws 401 when there is no caller. */
  session: Session;
  /** Adds an X-Cf-Warnings entry. */
  warn: (text: string) => void;
  /** Aborted at the deadline, and when the client goes away. */
  signal: AbortSignal;
  /** The request itself, for bodies that are read as a stream. */
  request: IncomingMessage;
  log: Logger;
}

/** A handler's reply. A string or bytes must be JSON already, unless `contentType` says otherwise. */
export interface Reply {
  status: number;
  body?: object | string | NodeJS.ReadableStream;
  contentType?: string;
  headers?: Record<string, string>;
  /** GUID of a job; becomes the Location header. */
  job?: string;
}

/** A row of the endpoint table. */
export interface Endpoint extends EndpointBase {
  /** Express path, e.g. `/v3/apps/:guid`. */
  path: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  handler: (context: RequestContext) => Promise<Reply> | Reply;
}

type Parsed<T extends z.ZodType | undefined, Otherwise> = T extends z.ZodType ? z.output<T> : Otherwise;

/** Creates a row. The types of its parameters, query and body follow from its path and schemas. */
export function endpoint<
  const Path extends string,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  row: EndpointBase & {
    path: Path;
    query?: Query;
    body?: Body;
    handler: (
      context: RequestContext<PathParams<Path>, Parsed<Query, Record<string, string>>, Parsed<Body, undefined>>,
    ) => Promise<Reply> | Reply;
  },
): Endpoint {
  // routing.ts passes the handler what the row declares; the type of a table of mixed rows cannot express that.
  return row as unknown as Endpoint;
}

export function ok(body: object | string): Reply {
  return { status: 200, body };
}

export function created(body: object | string): Reply {
  return { status: 201, body };
}

/** 202 with a job to poll; the body is empty unless given. */
export function accepted(job: string, body?: object | string): Reply {
  return { status: 202, job, body };
}

export function noContent(): Reply {
  return { status: 204 };
}
