// Answers the other replicas: takes note of what they have written, and tells those who come what they may have missed.
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

/** A peer waits so long at most for this replica to see a write: it need not, since this replica answers nothing before it has. Milliseconds. */
const observeTimeoutMs = 50;

export interface PeerHandlerOptions {
  identity: string;
  barrier: ReadBarrier;
  /** Takes note of a peer, and says what it may have missed. */
  onHello: (peer: Peer) => WriteMark[];
  log: Logger;
}

/** Serves the paths of peer-protocol.ts to callers whose token was checked. */
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
      log.warn({ err }, "a replica said what could not be understood");
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
