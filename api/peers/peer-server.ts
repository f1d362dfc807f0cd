// Serves the other replicas: records their writes, and sends a replica that joins the marks that it may have missed.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Logger } from "pino";
import type { ReadBarrier, WriteMark } from "./read-barrier.ts";
import {
  marksPath,
  marksSchema,
  helloPath,
  helloSchema,
  maxPeerBody,
  type Peer,
  type PeerAnswer,
} from "./peer-protocol.ts";

/** Longest wait of a peer for this replica to observe a write; short, since this replica holds its replies until it has. Milliseconds. */
const observeTimeoutMs = 50;

export interface PeerHandlerOptions {
  identity: string;
  barrier: ReadBarrier;
  /** Registers a peer and returns the marks that it may have missed. */
  onHello: (peer: Peer) => WriteMark[];
  log: Logger;
}

/** Serves the paths of peer-protocol.ts. The caller must check the token first. */
export function createPeerHandler({ identity, barrier, onHello, log }: PeerHandlerOptions): RequestListener {
  const routes: Record<string, (body: unknown) => Promise<WriteMark[]> | WriteMark[]> = {
    [marksPath]: async (body) => {
      await barrier.addAndWait(marksSchema.parse(body).marks, observeTimeoutMs);
      return [];
    },
    [helloPath]: (body) => onHello(helloSchema.parse(body).peer),
  };
  return (request, response) => void answer(request, response);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = request.method === "POST" ? routes[request.url ?? ""] : undefined;
    if (!route) return void response.writeHead(404).end();
    try {
      const reply: PeerAnswer = { identity, marks: await route(JSON.parse(await readText(request))) };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    } catch (err) {
      log.warn({ err }, "a message from another replica cannot be parsed");
      if (!response.headersSent) response.writeHead(400, { connection: "close" }).end();
    }
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxPeerBody) throw new Error(`the body has more than ${maxPeerBody} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
