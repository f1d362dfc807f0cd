// Requests to registries: credentials, deadlines, retries with back-off, and redirects that carry no credentials to another host.
import { setTimeout as delay } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { isLoopback } from "../../kube/server/loopback.ts";
import { BlobTooLarge } from "../blob-store.ts";
import { apiHostOf } from "./image-name.ts";
import { createAuthorizer, type Authorizer, type CredentialSource } from "./authorizer.ts";
import { createConnections, sendRequest } from "./http-request.ts";
import { readBody } from "./read-body.ts";
import { readErrorBody, RegistryError } from "./registry-error.ts";
import { registryOperationOf, registryReports } from "./registry-reports.ts";
import { isRetryable, retryDelay } from "./retry-delay.ts";

export interface RegistryHTTPOptions {
  credentials: CredentialSource;
  /** Registries, as `host[:port]`, that are asked by plain http. Loopback always is. */
  insecureHosts?: readonly string[];
  /** Milliseconds until the first byte of an answer; default 30,000. */
  deadlineMs?: number;
}

export interface RegistryCall {
  method: "GET" | "HEAD" | "PUT" | "POST" | "PATCH" | "DELETE";
  /** Host of the registry, as in image names. It and no other host gets its credentials. */
  registry: string;
  /** A path at the registry, or an absolute URL that the registry named. */
  target: string | URL;
  /** Scope that the call needs, as in `repository:team/app:pull`. */
  scopes: readonly string[];
  headers?: Record<string, string>;
  /** Opened anew for each try. */
  body?: () => Buffer | Readable;
  /** Statuses that are an answer. All others throw. */
  expected: readonly number[];
  /** Set to false where a second try needs a look at the first one's outcome. */
  retries?: boolean;
  /** Milliseconds for one try, instead of the default. */
  deadlineMs?: number;
}

export interface RegistryAnswer {
  status: number;
  header(name: string): string | undefined;
  /** Where the answer came from, after redirects. */
  url: URL;
}

export interface RegistryHTTP {
  /** Reads the whole answer, `maxBytes` at most (default 4 MiB). @throws RegistryError */
  call(call: RegistryCall, maxBytes?: number): Promise<RegistryAnswer & { body: Buffer }>;
  /** Returns when the headers are there; the caller consumes or destroys the body. @throws RegistryError */
  open(call: RegistryCall): Promise<RegistryAnswer & { body: Readable }>;
  close(): Promise<void>;
}

const DEADLINE_MS = 30_000;
/** No try begins later than so many deadlines after the first one: a person waits for the answer. */
const BUDGET_SHARE = 1.5;
const MAX_REDIRECTS = 5;
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const TOO_LARGE = 413;
/** An answer that leads nowhere: asking again does not help. */
const UNUSABLE = 415;

export function createRegistryHTTP(options: RegistryHTTPOptions): RegistryHTTP {
  return new HTTP(options);
}

type Response = RegistryAnswer & { raw: IncomingMessage };

class HTTP implements RegistryHTTP {
  readonly #connections = createConnections();
  readonly #insecure: ReadonlySet<string>;
  readonly #authorizer: Authorizer;
  readonly #deadlineMs: number;

  constructor({ credentials, insecureHosts = [], deadlineMs = DEADLINE_MS }: RegistryHTTPOptions) {
    this.#insecure = new Set(insecureHosts.map((host) => host.toLowerCase()));
    this.#deadlineMs = deadlineMs;
    this.#authorizer = createAuthorizer({
      credentials,
      connections: this.#connections,
      isAllowed: (url) => this.#isAllowed(url),
    });
  }

  async call(call: RegistryCall, maxBytes = MAX_BODY_BYTES): Promise<RegistryAnswer & { body: Buffer }> {
    return this.#withRetries(call, async () => {
      const response = await this.#exchange(call);
      const body = await readWhole(response, call, maxBytes);
      return { status: response.status, header: response.header, url: response.url, body };
    });
  }

  async open(call: RegistryCall): Promise<RegistryAnswer & { body: Readable }> {
    return this.#withRetries(call, async () => {
      const { status, header, url, raw } = await this.#exchange(call);
      return { status, header, url, body: raw };
    });
  }

  close(): Promise<void> {
    this.#connections.close();
    return Promise.resolve();
  }

  async #withRetries<T>(call: RegistryCall, attempt: () => Promise<T>): Promise<T> {
    const lastStart = Date.now() + BUDGET_SHARE * this.#deadlineMs;
    for (let failures = 1; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof RegistryError) || call.retries === false) throw error;
        const pause = retryDelay({ failures, ...pick(error) }, Date.now(), Math.random());
        if (pause === undefined || Date.now() + pause > lastStart) throw error;
        await delay(pause);
      }
    }
  }

  /** A single try: with what is known of the credentials, then with an answer to the registry's challenge. */
  async #exchange(call: RegistryCall): Promise<Response> {
    const subject = { host: call.registry, scopes: call.scopes };
    const known = await this.#authorizer.known(subject);
    let response = await this.#follow(call, known);
    const challenge = response.header("www-authenticate");
    if (response.status === 401 && challenge !== undefined && this.#isOwn(call, response.url)) {
      await discard(response);
      const authorization = await this.#authorizer.answer(subject, challenge, known);
      response = await this.#follow(call, authorization);
    }
    if (call.expected.includes(response.status)) return response;
    throw await toError(response, call);
  }

  async #follow(call: RegistryCall, authorization: string | undefined): Promise<Response> {
    let url = this.#resolve(call);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#send(call, url, this.#isOwn(call, url) ? authorization : undefined);
      const location = response.header("location");
      if (!isRedirect(call, response.status) || location === undefined) return response;
      await discard(response);
      if (redirects === MAX_REDIRECTS)
        throw new RegistryError(`${url.host} redirects in a circle`, { status: UNUSABLE });
      url = this.#check(new URL(location, url), `${url.host} redirects to`);
    }
  }

  async #send(call: RegistryCall, url: URL, authorization: string | undefined): Promise<Response> {
    const abort = new AbortController();
    const deadlineMs = call.deadlineMs ?? this.#deadlineMs;
    const timer = setTimeout(() => abort.abort(), deadlineMs);
    const report = registryReports.begin(() => registryOperationOf({ method: call.method, path: url.pathname }));
    try {
      const raw = await sendRequest(url, {
        method: call.method,
        headers: { "user-agent": "cupola", ...call.headers, ...(authorization !== undefined && { authorization }) },
        body: call.body?.() ?? null,
        connections: this.#connections,
        signal: abort.signal,
      });
      report(raw.statusCode ?? 0);
      return { status: raw.statusCode ?? 0, header: (name) => firstOf(raw.headers[name]), url, raw };
    } catch (cause) {
      report(0);
      const why = abort.signal.aborted ? `no answer within ${deadlineMs / 1000} s` : reasonOf(cause);
      throw new RegistryError(`the registry ${url.host} cannot be reached: ${why}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  #resolve({ registry, target }: RegistryCall): URL {
    if (target instanceof URL) return this.#check(target, `${registry} names`);
    return new URL(target, this.#origin(registry));
  }

  #origin(registry: string): string {
    const host = apiHostOf(registry);
    return `${this.#isPlain(host) ? "http" : "https"}://${host}`;
  }

  /** Whether the URL is the registry's own, so that it may get the registry's credentials. */
  #isOwn({ registry }: RegistryCall, url: URL): boolean {
    return url.origin === new URL(this.#origin(registry)).origin;
  }

  #check(url: URL, who: string): URL {
    if (this.#isAllowed(url)) return url;
    throw new RegistryError(
      `${who} ${url.protocol}//${url.host}, and only https is allowed there: let the registry name its own https address, or list that host as insecure`,
      { status: UNUSABLE },
    );
  }

  #isAllowed(url: URL): boolean {
    return url.protocol === "https:" || (url.protocol === "http:" && this.#isPlain(url.host));
  }

  #isPlain(host: string): boolean {
    const { hostname } = new URL(`http://${host}`);
    return isLoopback(hostname.replace(/^\[|\]$/g, "")) || this.#insecure.has(host.toLowerCase());
  }
}

/** Only 307 and 308 keep method and body. */
function isRedirect({ method }: RegistryCall, status: number): boolean {
  if (status === 307 || status === 308) return true;
  return (method === "GET" || method === "HEAD") && [301, 302, 303].includes(status);
}

async function readWhole({ raw, url }: Response, call: RegistryCall, maxBytes: number): Promise<Buffer> {
  try {
    return await readBody(raw, maxBytes, call.deadlineMs ?? DEADLINE_MS);
  } catch (cause) {
    const tooLarge = cause instanceof BlobTooLarge;
    const what = tooLarge ? `is larger than ${maxBytes} bytes` : `broke off: ${reasonOf(cause)}`;
    throw new RegistryError(`the answer to ${describe(call, url)} ${what}`, {
      cause,
      status: tooLarge ? TOO_LARGE : 0,
    });
  }
}

async function toError(response: Response, call: RegistryCall): Promise<RegistryError> {
  const body = await readWhole(response, call, MAX_ERROR_BYTES).catch(() => Buffer.alloc(0));
  const { code, message } = readErrorBody(body.toString("utf8"));
  const retryAfter = response.header("retry-after");
  const said = [code, message].filter(Boolean).join(": ");
  return new RegistryError(
    `${describe(call, response.url)} was answered with ${response.status}${said && ` (${said})`}${adviceOn(response.status, call.registry)}`,
    { status: response.status, ...(code && { code }), ...(retryAfter && { retryAfter }) },
  );
}

function adviceOn(status: number, host: string): string {
  if (status === 401) return `; the registry ${host} refuses the credentials given for it`;
  if (status === 403) return `; the credentials for ${host} do not allow it`;
  return isRetryable(status) ? "; try again" : "";
}

/** Without the query: it may hold a signature. */
function describe({ method }: RegistryCall, url: URL): string {
  return `${method} ${url.host}${url.pathname}`;
}

function pick({ status, retryAfter }: RegistryError): { status: number; retryAfter: string | undefined } {
  return { status, retryAfter };
}

async function discard({ raw }: Response): Promise<void> {
  await readBody(raw, MAX_ERROR_BYTES, DEADLINE_MS).catch(() => undefined);
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.message;
}
