// Connections of log drains: a stream for syslog, a request for https. Each write has a deadline.
import { once } from "node:events";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTLS } from "node:tls";
import { Agent, buildConnector, request } from "undici";
import type { DrainAddress } from "./drain-address.ts";
import { toFrame } from "./syslog-message.ts";

/** Certificates of a drain with mutual TLS, PEM. */
export interface DrainCertificates {
  cert?: string;
  key?: string;
  ca?: string;
}

/** Which addresses may be connected to: names are looked up by `lookup`, and an address is asked about. */
export interface DrainNetwork {
  lookup: LookupFunction;
  mayConnect: (address: string) => boolean;
}

export interface DrainConnection {
  /** Resolves once the messages are handed over. @throws Error after which the connection is of no use */
  send(messages: readonly Buffer[]): Promise<void>;
  close(): void;
}

const CONNECT_MS = 10_000;
const WRITE_MS = 10_000;
/** Bytes of one request. */
export const MAX_BATCH_BYTES = 256 * 1024;

/** How a drain is connected to. */
export interface DrainTarget {
  address: DrainAddress;
  certificates: DrainCertificates;
  network: DrainNetwork;
}

/** @param signal ends a connection that is being opened @throws Error whose message names no secret */
export async function openDrain(target: DrainTarget, signal: AbortSignal): Promise<DrainConnection> {
  const { address, network } = target;
  if (isIP(address.host) && !network.mayConnect(address.host)) throw new Error("the address is not open to this space");
  return address.transport === "syslog" || address.transport === "syslog-tls"
    ? await openStream(target, signal)
    : openPoster(target);
}

async function openStream(
  { address: { transport, host, port }, certificates, network: { lookup } }: DrainTarget,
  signal: AbortSignal,
): Promise<DrainConnection> {
  const socket =
    transport === "syslog"
      ? connect({ host, port, lookup, keepAlive: true })
      : connectTLS({ host, port, lookup, ...certificates, ...(isIP(host) ? {} : { servername: host }) });
  // An error that comes later is met by the next write.
  socket.on("error", () => undefined);
  try {
    await once(socket, transport === "syslog" ? "connect" : "secureConnect", {
      signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]),
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // The server's own bytes are read, so that its end is noticed.
  socket.resume();
  return { send: (messages) => writeAll(socket, messages), close: () => void socket.destroy() };
}

async function writeAll(socket: Socket, messages: readonly Buffer[]): Promise<void> {
  if (socket.destroyed || socket.readableEnded) throw new Error("the drain has closed the connection");
  const timer = setTimeout(() => socket.destroy(new Error("the drain takes nothing")), WRITE_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.write(Buffer.concat(messages.map(toFrame)), (error) => (error ? reject(error) : resolve()));
    });
  } finally {
    clearTimeout(timer);
  }
}

function openPoster({
  address: { transport, url },
  certificates,
  network: { lookup, mayConnect },
}: DrainTarget): DrainConnection {
  const connectTo = buildConnector({ lookup, timeout: CONNECT_MS, ...certificates });
  const dispatcher = new Agent({
    connect(options, callback) {
      // Addresses are never looked up, so they are judged here, in the form that the connection gets.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      if (isIP(host) && !mayConnect(host)) return callback(new Error("the address is not open to this space"), null);
      connectTo(options, callback);
    },
    connections: 1,
    headersTimeout: WRITE_MS,
    bodyTimeout: WRITE_MS,
  });
  const post = async (body: Buffer): Promise<void> => {
    const answer = await request(url, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body,
      dispatcher,
      signal: AbortSignal.timeout(WRITE_MS),
    });
    await answer.body.dump({ limit: 64 * 1024 });
    if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`the drain answered ${answer.statusCode}`);
  };
  return {
    async send(messages) {
      if (transport === "https-batch") return post(Buffer.concat(messages.map(toFrame)));
      for (const message of messages) await post(message);
    },
    close: () => void dispatcher.destroy().catch(() => undefined),
  };
}
