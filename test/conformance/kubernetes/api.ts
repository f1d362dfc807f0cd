// A bare HTTP client for judging an API server: what went out and what came back, with nothing interpreted in between.
import { Agent, request } from "undici";

/** Speaks as one identity. Paths start with "/". */
export interface Api {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  patch(type: PatchType, path: string, body: unknown): Promise<Answer>;
  delete(path: string, body?: unknown): Promise<Answer>;
  /** Sends a body exactly as it is. */
  send(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS",
    path: string,
    options?: { body?: string | Buffer; headers?: Record<string, string> },
  ): Promise<Answer>;
  watch(path: string): Promise<Watch>;
  /** The same server, as somebody else. */
  as(identity: Identity): Api;
}

export interface Answer {
  status: number;
  // The suite looks at answers of every shape; each row says what it expects.
  body: Json;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** JSON of unknown shape that a row walks without declaring it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

export type PatchType = "json" | "merge" | "strategic" | "apply";

export type Identity =
  | { token: string }
  | { cert: string; key: string }
  | { impersonate: string; groups?: string[]; uid?: string; extra?: Record<string, string> }
  | { anonymous: true };

export interface WatchEvent {
  type: string;
  object: Json;
}

export interface Watch {
  status: number;
  /** The next event; undefined when the server ended the stream. Throws after ten seconds without either. */
  next(): Promise<WatchEvent | undefined>;
  /** The next `count` events. Throws when the stream ends before. */
  take(count: number): Promise<WatchEvent[]>;
  stop(): void;
}

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
}

const contentTypes: Record<PatchType, string> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};
const deadlineMs = 30_000;
const silenceMs = 10_000;

/** A client as the administrator; `as` makes others. Agents are closed by `close`. */
export function connect(endpoint: Endpoint): { api: Api; close(): Promise<void> } {
  const agents: Agent[] = [];
  const agentFor = (tls: { cert?: string; key?: string }) => {
    // Not HTTP/2: there undici joins the values of a repeated header, such as Impersonate-Group, into one.
    const agent = new Agent({ allowH2: false, connect: { ca: endpoint.ca, ...tls }, connections: 64 });
    agents.push(agent);
    return agent;
  };
  const shared = agentFor({});
  const make = (identity: Identity): Api => {
    const agent = "cert" in identity ? agentFor(identity) : shared;
    return makeApi({ endpoint, agent, headers: identityHeaders(identity, endpoint), as: make });
  };
  return {
    api: make({ token: endpoint.adminToken }),
    close: async () => void (await Promise.all(agents.map((agent) => agent.destroy()))),
  };
}

function identityHeaders(identity: Identity, endpoint: Endpoint): Record<string, string | string[]> {
  if ("cert" in identity || "anonymous" in identity) return {};
  if ("token" in identity) return { authorization: `Bearer ${identity.token}` };
  const extra = Object.entries(identity.extra ?? {}).map(([key, value]) => [`Impersonate-Extra-${key}`, value]);
  return {
    authorization: `Bearer ${endpoint.adminToken}`,
    "Impersonate-User": identity.impersonate,
    ...(identity.groups ? { "Impersonate-Group": identity.groups } : {}),
    ...(identity.uid ? { "Impersonate-Uid": identity.uid } : {}),
    ...(Object.fromEntries(extra) as Record<string, string>),
  };
}

interface Wire {
  endpoint: Endpoint;
  agent: Agent;
  headers: Record<string, string | string[]>;
  as: (identity: Identity) => Api;
}

function makeApi(wire: Wire): Api {
  const send: Api["send"] = async (method, path, { body, headers } = {}) => {
    const response = await request(wire.endpoint.url + path, {
      method,
      body,
      dispatcher: wire.agent,
      headers: { ...wire.headers, ...headers },
      headersTimeout: deadlineMs,
      bodyTimeout: deadlineMs,
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, text, body: parseOrText(text) };
  };
  const json = { "content-type": "application/json" };
  return {
    send,
    as: wire.as,
    get: (path, headers) => send("GET", path, { headers }),
    post: (path, body, headers) => send("POST", path, { body: JSON.stringify(body), headers: { ...json, ...headers } }),
    put: (path, body) => send("PUT", path, { body: JSON.stringify(body), headers: json }),
    patch: (type, path, body) =>
      send("PATCH", path, { body: JSON.stringify(body), headers: { "content-type": contentTypes[type] } }),
    delete: (path, body) =>
      send("DELETE", path, body === undefined ? {} : { body: JSON.stringify(body), headers: json }),
    watch: (path) => openWatch(wire, path),
  };
}

function parseOrText(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text; // healthz and the like answer in plain text
  }
}

async function openWatch(wire: Wire, path: string): Promise<Watch> {
  const abort = new AbortController();
  const joined = `${path}${path.includes("?") ? "&" : "?"}watch=true`;
  const response = await request(wire.endpoint.url + joined, {
    dispatcher: wire.agent,
    headers: wire.headers,
    signal: abort.signal,
    headersTimeout: deadlineMs,
    bodyTimeout: 0,
  });
  const lines = readLines(response.body);
  const next = async () => {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no event from ${joined} within ${silenceMs / 1000} s`)), silenceMs);
    });
    try {
      const line = await Promise.race([lines.next(), silence]);
      return line.done ? undefined : (JSON.parse(line.value) as WatchEvent);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    status: response.statusCode,
    next,
    take: async (count) => {
      const events: WatchEvent[] = [];
      while (events.length < count) {
        const event = await next();
        if (!event) throw new Error(`the watch ended after ${events.length} of ${count} events`);
        events.push(event);
      }
      return events;
    },
    stop: () => abort.abort(),
  };
}

async function* readLines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of body) {
      const parts = (rest + chunk.toString()).split("\n");
      rest = parts.pop() ?? "";
      yield* parts.filter((part) => part.trim() !== "");
    }
  } catch (error) {
    if ((error as Error).name !== "AbortError") throw error;
  }
}

/** Events as a person would tell them. */
export const brief = (events: WatchEvent[]) => events.map((event) => `${event.type} ${event.object.metadata.name}`);

/** Ends the watch when `use` is done with it. */
export async function using<T>(watch: Promise<Watch>, use: (watch: Watch) => Promise<T>): Promise<T> {
  const open = await watch;
  try {
    return await use(open);
  } finally {
    open.stop();
  }
}
