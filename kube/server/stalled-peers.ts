// Closes connections whose peer stalls (it sends half a body, or does not read the response) or sends requests ahead without end. Connections that
// wait for our side stay open.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";

/**
 * Requests of one connection that may be unanswered at a time. A pipelining client sends a few; without a bound one connection starts any number of
 * handlers, each with its response held in memory until the earlier ones are sent.
 */
export const maxPipelined = 16;

interface Connection {
  /** Requests without a complete response; several with pipelining. */
  open: number;
  /** The last request; only its body can be incomplete. */
  request: IncomingMessage;
}

/**
 * Checks each connection without traffic for `stallMs`. Partial writes count as traffic for Node's timer. Beyond `maxPipelined` a connection is closed,
 * as HTTP allows; Node still emits the requests of the same chunk, with a destroyed socket.
 */
export function endStalledPeers(server: Server | TlsServer, stallMs: number): void {
  const connections = new WeakMap<Socket, Connection>();
  const judge = (socket: Socket): void => {
    if (isStalled(socket, connections.get(socket))) socket.destroy();
    else socket.setTimeout(stallMs);
  };
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket) ?? { open: 0, request };
    connections.set(socket, connection);
    connection.open += 1;
    connection.request = request;
    response.once("close", () => (connection.open -= 1));
    if (connection.open > maxPipelined) socket.destroy();
  });
  server.prependListener("upgrade", (_request: IncomingMessage, tunnel: Duplex) => {
    const socket = tunnel as Socket;
    socket.on("timeout", () => (socket.writableLength > 0 ? socket.destroy() : socket.setTimeout(stallMs)));
  });
  // With a timeout listener Node closes nothing by itself, idle keep-alive connections included.
  server.setTimeout(stallMs, judge);
}

function isStalled(socket: Socket, connection: Connection | undefined): boolean {
  if (!connection || connection.open === 0) return true;
  return socket.writableLength > 0 || owesBody(connection.request);
}

/** Whether the client must send more of a body. While our reader is slow, the socket is not read, so the client is not at fault. */
function owesBody(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed && request.readableLength < request.readableHighWaterMark;
}
