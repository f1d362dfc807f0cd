// A proxy before a real registry that breaks single requests: statuses, cuts, redirects and changed bytes that no registry sends on request.
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A client's request. */
export interface SeenRequest {
  method: string;
  /** With the query. */
  path: string;
  authorization: string | undefined;
  range: string | undefined;
}

export interface Fault {
  /** Never answers. */
  silent?: boolean;
  /** Answers so, instead of the registry. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Ends the connection after so many bytes of the request's body have reached the registry. */
  cutRequestAfter?: number;
  /** Ends the connection after so many bytes of the answer's body. */
  cutAnswerAfter?: number;
  /** Changes the answer's bytes. */
  change?: (chunk: Buffer) => Buffer;
  /** Does not pass this header of the request on. */
  dropHeader?: string;
  /** Changes this header of the answer. */
  rewrite?: { header: string; to: (value: string) => string };
}

export interface FaultProxy {
  /** `host:port`. */
  host: string;
  seen: SeenRequest[];
  /** The fault of a request; undefined passes it on. */
  decide: (request: SeenRequest) => Fault | undefined;
  stop(): Promise<void>;
}

/** Listens on any port of 127.0.0.1. `target` is the registry's `host:port`. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const proxy: FaultProxy = { host: "", seen: [], decide: () => undefined, stop: () => stop(server) };
  const server = createServer((incoming, outgoing) => {
    const seen = toSeen(incoming);
    proxy.seen.push(seen);
    forward(target, proxy.decide(seen) ?? {}, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  proxy.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

/** A fault for the first `times` requests that match, and how often it happened. */
export function failing(
  method: string,
  path: RegExp,
  fault: Fault | ((n: number) => Fault),
  times = 1,
): FaultProxy["decide"] & { hits(): number } {
  let hits = 0;
  const decide = (request: SeenRequest): Fault | undefined => {
    if (request.method !== method || !path.test(request.path) || hits >= times) return undefined;
    hits++;
    return typeof fault === "function" ? fault(hits) : fault;
  };
  return Object.assign(decide, { hits: () => hits });
}

function toSeen({ method = "", url = "", headers }: IncomingMessage): SeenRequest {
  return { method, path: url, authorization: headers.authorization, range: headers.range };
}

async function forward(
  target: string,
  fault: Fault,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  if (fault.silent) return;
  if (fault.status !== undefined) {
    incoming.resume();
    outgoing.writeHead(fault.status, fault.headers).end(fault.body);
    return;
  }
  // The Host header stays, so that the registry names addresses at the proxy.
  const headers = { ...incoming.headers };
  if (fault.dropHeader !== undefined) delete headers[fault.dropHeader];
  const inner = request(`http://${target}${incoming.url}`, { method: incoming.method ?? "GET", headers });
  inner.on("error", () => outgoing.destroy());
  const answered = once(inner, "response") as Promise<[IncomingMessage]>;
  if (fault.cutRequestAfter === undefined) incoming.pipe(inner);
  else await cutRequest(incoming, inner, fault.cutRequestAfter, outgoing);
  const [answer] = await answered;
  const { header, to } = fault.rewrite ?? { header: "", to: (value: string) => value };
  const given = answer.headers[header];
  outgoing.writeHead(answer.statusCode ?? 500, {
    ...answer.headers,
    ...(typeof given === "string" && { [header]: to(given) }),
  });
  await pipeline(answer, spoil(fault, outgoing), outgoing);
}

async function cutRequest(
  incoming: IncomingMessage,
  inner: ReturnType<typeof request>,
  bytes: number,
  outgoing: ServerResponse,
): Promise<void> {
  let left = bytes;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, left);
    left -= part.length;
    if (part.length > 0) await new Promise((resolve) => inner.write(part, resolve));
    if (left === 0) break;
  }
  inner.destroy();
  outgoing.destroy();
}

function spoil({ cutAnswerAfter = Infinity, change = (chunk) => chunk }: Fault, outgoing: ServerResponse): Transform {
  let left = cutAnswerAfter;
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      const part = change(chunk.subarray(0, Math.min(left, chunk.length)));
      left -= part.length;
      if (left > 0) return done(null, part);
      outgoing.write(part, () => outgoing.destroy());
      done();
    },
  });
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}
