// Ends connections whose peer stopped in the middle: half a request body, or an answer that it does not take. What waits for our side stays.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { Listener } from "./listener.ts";

interface Connection {
  /** Requests without a complete answer: several where the client sends ahead. */
  open: number;
  /** The last one; only its body can be incomplete. */
  request: IncomingMessage;
}

/** Judges each connection on which no byte moved for `stallMs`. Node's timer counts a write that proceeds in pieces as movement. */
export function endStalledPeers(server: Listener, stallMs: number): void {
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
  });
  server.prependListener("upgrade", (_request: IncomingMessage, tunnel: Duplex) => {
    const socket = tunnel as Socket;
    socket.on("timeout", () => (socket.writableLength > 0 ? socket.destroy() : socket.setTimeout(stallMs)));
  });
  // With a listener Node destroys nothing by itself, connections that are kept alive without a request included.
  server.setTimeout(stallMs, judge);
}

function isStalled(socket: Socket, connection: Connection | undefined): boolean {
  if (!connection || connection.open === 0) return true;
  return socket.writableLength > 0 || owesBody(connection.request);
}

/** Whether the client owes the rest of a body. While our own reader is behind, nothing is read from the connection, and the client owes nothing. */
function owesBody(request: IncomingMessage): boolean {
  return !request.complete && !request.destroyed && request.readableLength < request.readableHighWaterMark;
}
