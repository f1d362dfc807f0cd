// Answers DNS questions over UDP and TCP, within bounds: an answer is computed from memory, and a client that is slow is left.
import { createSocket, type Socket as UDPSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import {
  type DNSAnswer,
  type DNSQuestion,
  RCODES,
  readQuestion,
  writeAnswer,
  writeFormatError,
} from "./dns-message.ts";

/** Every resolver takes so much over UDP; longer answers go over TCP. */
const MAX_UDP_BYTES = 512;
const MAX_TCP_BYTES = 65_535;
const MAX_CONNECTIONS = 200;
const MAX_QUESTIONS_OF_CONNECTION = 100;
const IDLE_MS = 5_000;
/** The name of a question has 255 bytes at most. */
const MAX_QUESTION_BYTES = 1024;
/** However busy a connection is. The resolver opens another one. */
const MAX_CONNECTION_MS = 30_000;

export interface DNSServer {
  /** The same for UDP and TCP. */
  port: number;
  close(): Promise<void>;
}

interface DNSServerOptions {
  host: string;
  port: number;
  answer: (question: DNSQuestion) => DNSAnswer;
  /** Called with errors of the sockets and of `answer`, which the server outlives. */
  onError: (error: unknown) => void;
}

type Reply = (message: Buffer, maxBytes: number) => Buffer | undefined;

/** @throws Error when the port is taken */
export async function startDNSServer({ host, port, answer, onError }: DNSServerOptions): Promise<DNSServer> {
  const reply = createReply(answer, onError);
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    serveConnection(socket, (message) => reply(message, MAX_TCP_BYTES));
  });
  tcp.maxConnections = MAX_CONNECTIONS;
  tcp.listen(port, host);
  await once(tcp, "listening");
  tcp.on("error", onError);
  const bound = (tcp.address() as { port: number }).port;
  const udp = await listenUDP({ host, port: bound }, reply).catch((error: unknown) => {
    tcp.close();
    throw error;
  });
  udp.on("error", onError);
  return {
    port: bound,
    async close() {
      const closed = Promise.all([once(udp, "close"), once(tcp, "close")]);
      udp.close();
      tcp.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

function createReply(answer: DNSServerOptions["answer"], onError: DNSServerOptions["onError"]): Reply {
  return (message, maxBytes) => {
    const question = readQuestion(message);
    if (!question) return undefined;
    if ("malformed" in question) return writeFormatError(question);
    try {
      return writeAnswer(question, answer(question), maxBytes);
    } catch (error) {
      onError(error);
      return writeAnswer(question, { rcode: RCODES.serverFailure, addresses: [] }, maxBytes);
    }
  };
}

async function listenUDP({ host, port }: { host: string; port: number }, reply: Reply): Promise<UDPSocket> {
  const udp = createSocket({ type: host.includes(":") ? "udp6" : "udp4" }, (message, { address, port: from }) => {
    const bytes = reply(message, MAX_UDP_BYTES);
    // A port of 0 in a forged packet throws.
    if (bytes && from > 0) udp.send(bytes, from, address, () => undefined);
  });
  udp.bind(port, host);
  await once(udp, "listening");
  return udp;
}

/** Each message follows its length. */
function serveConnection(socket: Socket, reply: (message: Buffer) => Buffer | undefined): void {
  let pending = Buffer.alloc(0);
  let questions = 0;
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  const life = setTimeout(() => socket.destroy(), MAX_CONNECTION_MS);
  socket.on("close", () => clearTimeout(life));
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    if (pending.length >= 2 && pending.readUInt16BE(0) > MAX_QUESTION_BYTES) return void socket.destroy();
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      const bytes = ++questions <= MAX_QUESTIONS_OF_CONNECTION ? reply(pending.subarray(2, end)) : undefined;
      pending = pending.subarray(end);
      if (!bytes) return void socket.destroy();
      const length = Buffer.alloc(2);
      length.writeUInt16BE(bytes.length);
      socket.write(Buffer.concat([length, bytes]));
    }
  });
}
