// HTTPS server of a validating webhook: bounded requests, a deadline per response, and certificates that rotate while it serves.
import type { Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP, type AddressInfo } from "node:net";
import type { Logger } from "pino";
import { createListener, listenerLimits } from "../server/listener.ts";
import { startListening } from "../server/start-listening.ts";
import type { KeyPair } from "../server/pki.ts";
import {
  ALLOWED,
  presentReview,
  parseReview,
  type AdmissionRequest,
  type AdmissionDecision,
} from "./admission-review.ts";

/** Decides a request. Must not wait for remote systems. An error allows the write. */
export type AdmissionHandler = (request: AdmissionRequest) => Promise<AdmissionDecision>;

export interface AdmissionServerOptions {
  host: string;
  /** 0 for any. */
  port: number;
  /** By the path of their reviews; every other path is 404. */
  handlers: ReadonlyMap<string, AdmissionHandler>;
  /** A slower decision allows the write; milliseconds, less than the webhook's timeout. */
  deadlineMs: number;
  log: Logger;
}

export interface AdmissionServer {
  /** The listening address, `host:port`. */
  authority: string;
  /** Uses this certificate from the next handshake on. Handshakes fail before the first call. */
  setCertificate(pair: KeyPair): void;
  /** Finishes open requests, for at most `drainMs`. */
  close(drainMs?: number): Promise<void>;
}

/** Two objects of the maximum size, and their envelope. */
const MAX_BODY = 8 * 1024 * 1024;
const MAX_CONNECTIONS = 256;
const CONNECTION_SHARE = 0.05;
/** API servers send reviews at once, so a slow client is none. */
const LIMITS = { ...listenerLimits, headersMs: 10_000, stallMs: 10_000 };
const DRAIN_MS = 1_000;

/** Listens. @throws Error when the address is taken */
export async function startAdmissionServer(options: AdmissionServerOptions): Promise<AdmissionServer> {
  const server = createListener(
    { tls: { minVersion: "TLSv1.2" }, share: CONNECTION_SHARE, maxConnections: MAX_CONNECTIONS, limits: LIMITS },
    (request, response) => {
      answer(request, response, options).catch((err: unknown) => {
        options.log.debug({ err }, "a review failed");
        response.destroy();
      });
    },
  ) as Server;
  await startListening(server, options, (err) =>
    options.log.warn({ err }, "the webhook could not accept a connection"),
  );
  const { port } = server.address() as AddressInfo;
  let used: KeyPair | undefined;
  return {
    authority: `${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${port}`,
    setCertificate(pair) {
      if (used?.cert === pair.cert && used.key === pair.key) return;
      server.setSecureContext({ cert: pair.cert, key: pair.key });
      used = pair;
    },
    close: (drainMs = DRAIN_MS) => end(server, drainMs),
  };
}

async function end(server: Server, drainMs: number): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), drainMs);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(force);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: AdmissionServerOptions,
): Promise<void> {
  const refuse = (code: number, text: string): void =>
    void response.writeHead(code, { "content-type": "text/plain", connection: "close" }).end(`${text}\n`);
  const handler = options.handlers.get(new URL(request.url ?? "/", "https://webhook").pathname);
  if (!handler) return refuse(404, `reviews are posted to ${[...options.handlers.keys()].join(", ")}`);
  if (request.method !== "POST") return refuse(405, "POST an AdmissionReview");
  const body = await readBody(request);
  if (body === undefined) return refuse(413, `a review has at most ${MAX_BODY} bytes`);
  let review: AdmissionRequest;
  try {
    review = parseReview(body);
  } catch (error) {
    return refuse(400, error instanceof Error ? error.message : String(error));
  }
  const verdict = await decideInTime(review, handler, options);
  response.writeHead(200, { "content-type": "application/json" }).end(presentReview(review.uid, verdict));
}

/** Undefined when the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** An internal error must not block a write. */
async function decideInTime(
  review: AdmissionRequest,
  handler: AdmissionHandler,
  { deadlineMs, log }: AdmissionServerOptions,
): Promise<AdmissionDecision> {
  const late = Promise.withResolvers<AdmissionDecision>();
  const timer = setTimeout(() => late.resolve(ALLOWED), deadlineMs);
  try {
    return await Promise.race([handler(review), late.promise]);
  } catch (err) {
    log.debug({ err, kind: review.kind.kind }, "a write was allowed without a decision");
    return ALLOWED;
  } finally {
    clearTimeout(timer);
  }
}
