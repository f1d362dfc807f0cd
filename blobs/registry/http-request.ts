// A request to a registry or its token service. By node:http, since every build waits for a program that asks a registry: undici would be half of its start.
import type * as Http from "node:http";
import type * as Https from "node:https";
import { pipeline, type Readable } from "node:stream";

/** Connections that are kept, a pool for each protocol. */
export interface Connections {
  /** Not before it is needed: TLS takes a third of the rest to load. */
  poolFor(protocol: "http:" | "https:"): { request: typeof Http.request; agent: Http.Agent };
  /** Ends all, those in use included. */
  close(): void;
}

export interface HttpRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer | Readable | string | null;
  connections: Connections;
  /** Until the answer's headers are there. */
  signal: AbortSignal;
  /** A download in which nothing comes for so many milliseconds is cut; default 30,000. */
  idleMs?: number;
}

const CONNECTIONS_PER_HOST = 32;
const CONNECT_DEADLINE_MS = 5_000;
/** Servers close unused connections after some seconds; ours goes first. */
const UNUSED_MS = 4_000;
const IDLE_MS = 30_000;

export function createConnections(): Connections {
  const agents = new Map<string, Http.Agent>();
  return {
    poolFor(protocol) {
      const { Agent, request } = moduleFor(protocol);
      const agent =
        agents.get(protocol) ?? new Agent({ keepAlive: true, maxSockets: CONNECTIONS_PER_HOST, timeout: UNUSED_MS });
      agents.set(protocol, agent);
      return { request, agent };
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

/** An import would run getters of these modules that load fetch with them. */
function moduleFor(protocol: "http:" | "https:"): Pick<typeof Http, "Agent" | "request"> {
  return protocol === "https:"
    ? (process.getBuiltinModule("node:https") as typeof Https)
    : process.getBuiltinModule("node:http");
}

/** Resolves with the headers; the caller reads or destroys the body. A redirect is an answer like another. @throws the connection's error */
export function sendRequest(url: URL, options: HttpRequest): Promise<Http.IncomingMessage> {
  const { method, headers, body = null, connections, signal, idleMs = IDLE_MS } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Http.IncomingMessage>();
  const protocol = url.protocol === "https:" ? "https:" : "http:";
  const { request, agent } = connections.poolFor(protocol);
  const sent = request(url, { method, headers, agent, signal });
  // After the answer has begun only reading it decides.
  sent.on("error", reject);
  sent.on("socket", (socket) => limitConnecting(sent, socket, protocol === "https:"));
  sent.on("response", (response) => {
    // A body may be cut; whoever reads it learns that, and nobody else needs to.
    response.on("error", () => undefined);
    response.on("close", () => endUnsent(sent));
    limitIdle(response, idleMs);
    resolve(response);
  });
  if (body === null || Buffer.isBuffer(body) || typeof body === "string") sent.end(body ?? undefined);
  else pipeline(body, sent, (error) => error && reject(error));
  return promise;
}

function limitConnecting(sent: Http.ClientRequest, socket: Http.ClientRequest["socket"], isTls: boolean): void {
  if (!socket?.connecting) return;
  const why = Object.assign(new Error("the connection took too long"), { code: "ETIMEDOUT" });
  const timer = setTimeout(() => sent.destroy(why), CONNECT_DEADLINE_MS);
  const stop = (): void => clearTimeout(timer);
  socket.once(isTls ? "secureConnect" : "connect", stop).once("close", stop);
}

/** Bytes that wait for their reader are no silence of the server. */
function limitIdle(response: Http.IncomingMessage, idleMs: number): void {
  const { socket } = response;
  const onSilence = (): void => {
    if (response.readableLength > 0) socket.setTimeout(idleMs);
    else response.destroy(new Error(`nothing came for ${idleMs / 1000} s`));
  };
  socket.setTimeout(idleMs).on("timeout", onSilence);
  response.once("close", () => socket.off("timeout", onSilence));
}

/** A server that refuses a body may answer before it has read all: the rest would keep the connection. */
function endUnsent(sent: Http.ClientRequest): void {
  if (!sent.writableFinished) sent.destroy();
}
