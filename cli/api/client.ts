// Speaks the CF v3 API for `cup`: one request, a whole list, a job until it ends.
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../failure.ts";
import { exchange, type HttpAnswer, type Trust } from "./exchange.ts";
import { toUnreachable } from "./unreachable.ts";

/** A resource as the API answers it; commands read what they name. */
export type Json = Record<string, unknown>;

export interface Resource extends Json {
  guid: string;
  name: string;
}

/** A body that is sent as it is read. */
export interface StreamBody {
  stream: AsyncIterable<Uint8Array>;
  contentType: string;
}

export interface RequestOptions {
  /** An object is sent as JSON. */
  body?: Json | { yaml: string } | StreamBody;
  query?: Readonly<Record<string, string>>;
  /** Default 30 s. */
  deadlineMs?: number;
}

export interface ApiClient {
  readonly base: string;
  request<T = Json>(method: string, path: string, options?: RequestOptions): Promise<T>;
  /** As request; also the job's URL, when the answer names one. */
  start(method: string, path: string, options?: RequestOptions): Promise<{ body: Json; job: string | undefined }>;
  /** All pages. */
  list<T extends Json = Resource>(path: string, query?: Readonly<Record<string, string>>): Promise<T[]>;
  /** As list, with the resources that `include` or `fields` add, by their plural name. */
  listIncluding<T extends Json = Resource>(
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<{ resources: T[]; included: Readonly<Record<string, Json[]>> }>;
  /** Waits until a job ends. @throws Failure with the job's errors. */
  waitForJob(job: string | undefined, deadlineMs?: number): Promise<void>;
}

export interface ApiClientOptions {
  trust?: Trust | undefined;
  /** Called with each warning of the platform, once. */
  onWarning?: (text: string) => void;
}

export function apiClient(
  base: string,
  authorization: string,
  { trust, onWarning = () => undefined }: ApiClientOptions = {},
): ApiClient {
  const known = new Set<string>();
  const start: ApiClient["start"] = async (method, path, options = {}) => {
    const { status, text, location, warnings } = await send({ base, authorization, trust }, { method, path, options });
    for (const warning of toWarnings(warnings).filter((one) => !known.has(one))) {
      known.add(warning);
      onWarning(warning);
    }
    if (status < 200 || status > 299) throw toFailure({ status, text }, { method, path });
    return { body: text === "" ? {} : parseBody(text, path), job: location };
  };
  const request = async <T>(method: string, path: string, options?: RequestOptions): Promise<T> =>
    (await start(method, path, options)).body as T;
  const listIncluding = async <T extends Json>(path: string, query: Readonly<Record<string, string>>) => {
    const resources: T[] = [];
    const included: Record<string, Json[]> = {};
    let next: string | undefined = withQuery(`${base}${path}`, { per_page: "200", ...query });
    while (next) {
      const page: Page<T> = await request("GET", next);
      resources.push(...page.resources);
      for (const [kind, more] of Object.entries(page.included ?? {})) (included[kind] ??= []).push(...more);
      next = page.pagination.next?.href;
    }
    return { resources, included };
  };
  return {
    base,
    start,
    request,
    listIncluding,
    list: async <T extends Json>(path: string, query: Readonly<Record<string, string>> = {}) =>
      (await listIncluding<T>(path, query)).resources,
    waitForJob: (job, deadlineMs = 120_000) => (job ? pollJob(request, job, deadlineMs) : Promise.resolve()),
  };
}

interface Page<T> {
  resources: T[];
  included?: Record<string, Json[]>;
  pagination: { next: { href: string } | null };
}

async function pollJob(request: ApiClient["request"], job: string, deadlineMs: number): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  for (let pause = 10; ; pause = Math.min(pause * 2, 1000)) {
    const { state, errors } = await request<{ state: string; errors?: { detail: string }[] }>("GET", job);
    if (state === "COMPLETE") return;
    if (state === "FAILED")
      throw new Failure((errors ?? []).map((error) => error.detail).join("; ") || "the job failed");
    if (Date.now() > deadline)
      throw new Failure(`the job has not ended in ${deadlineMs / 1000} s`, {
        next: `cup curl ${new URL(job).pathname}`,
      });
    await delay(pause);
  }
}

interface SentRequest {
  method: string;
  path: string;
  options: RequestOptions;
}

interface Access {
  base: string;
  authorization: string;
  trust: Trust | undefined;
}

async function send(
  { base, authorization, trust }: Access,
  { method, path, options }: SentRequest,
): Promise<HttpAnswer> {
  const url = withQuery(path.startsWith("http") ? path : `${base}${path}`, options.query ?? {});
  const { body, contentType } = encode(options.body);
  try {
    return await exchange(url, {
      method,
      headers: {
        authorization,
        accept: "application/json",
        "user-agent": "cup",
        ...(contentType && { "content-type": contentType }),
      },
      deadlineMs: options.deadlineMs ?? 30_000,
      ...(body !== undefined && { body }),
      ...(trust && { trust }),
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw toUnreachable(base, cause);
  }
}

function encode(body: RequestOptions["body"]): { body?: string | StreamBody["stream"]; contentType?: string } {
  if (body === undefined) return {};
  if (isStream(body)) return { body: body.stream, contentType: body.contentType };
  if ("yaml" in body) return { body: String(body["yaml"]), contentType: "application/x-yaml" };
  return { body: JSON.stringify(body), contentType: "application/json" };
}

function isStream(body: NonNullable<RequestOptions["body"]>): body is StreamBody {
  return (
    "stream" in body && typeof body.stream === "object" && body.stream !== null && Symbol.asyncIterator in body.stream
  );
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const params = new URLSearchParams(query).toString();
  return params === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${params}`;
}

function parseBody(text: string, path: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new Failure(`${path} answered something that is not JSON`, {
      next: "is this the address of a CF API? cup login --api URL",
      cause,
    });
  }
}

/** Decodes X-Cf-Warnings: percent-encoded texts between commas. */
function toWarnings(header = ""): string[] {
  return header
    .split(",")
    .filter((one) => one.trim() !== "")
    .map(decode);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.trim().replaceAll("+", " "));
  } catch {
    // A proxy's own words may hold a bare percent sign.
    return text.trim();
  }
}

function toFailure(
  { status, text }: Pick<HttpAnswer, "status" | "text">,
  { method, path }: { method: string; path: string },
): Failure {
  const errors = errorsOf(text);
  const message = errors.map(({ detail }) => detail).join("; ") || `the API answered ${status}`;
  if (status === 401) return new Failure(message, { kind: "target", next: "cup login" });
  return new Failure(message, { refusal: { method, path, code: errors[0]?.code } });
}

/** The errors that the API answered. A proxy, for example, answers none, and the status must do. */
function errorsOf(text: string): { detail: string; code: number | undefined }[] {
  try {
    const { errors } = JSON.parse(text) as { errors?: { detail?: unknown; code?: unknown }[] };
    return (errors ?? []).flatMap(({ detail, code }) =>
      typeof detail === "string" ? [{ detail, code: typeof code === "number" ? code : undefined }] : [],
    );
  } catch {
    return [];
  }
}
