// Bounds connections to the SSH proxy that nobody has authenticated yet: each costs a key exchange, and a flood of them must not keep others out.
import type { Socket } from "node:net";

const MAX_WAITING = 64;
const LOGIN_MS = 20_000;

export interface WaitingRoom {
  /** Where all places are taken, the oldest connection of the address with the most is closed. */
  enter(socket: Socket): void;
  /** For one that has authenticated. */
  leave(socket: Socket): void;
  readonly size: number;
}

export function createWaitingRoom({ max = MAX_WAITING, loginMs = LOGIN_MS } = {}): WaitingRoom {
  const waiting = new Map<Socket, { address: string; timer: NodeJS.Timeout }>();
  const leave = (socket: Socket): void => {
    clearTimeout(waiting.get(socket)?.timer);
    waiting.delete(socket);
  };
  return {
    enter(socket) {
      if (waiting.size >= max) findCrowding(waiting)?.destroy();
      const timer = setTimeout(() => socket.destroy(), loginMs).unref();
      waiting.set(socket, { address: socket.remoteAddress ?? "", timer });
      socket.once("close", () => leave(socket));
    },
    leave,
    get size() {
      return waiting.size;
    },
  };
}

/** The oldest of the address with the most, which leaves at once: its event of closing comes later. */
function findCrowding(waiting: Map<Socket, { address: string; timer: NodeJS.Timeout }>): Socket | undefined {
  const byAddress = Map.groupBy(waiting, ([, { address }]) => address);
  const most = [...byAddress.values()].reduce<[Socket, unknown][]>(
    (found, entries) => (entries.length > found.length ? entries : found),
    [],
  );
  const socket = most[0]?.[0];
  if (socket) {
    clearTimeout(waiting.get(socket)?.timer);
    waiting.delete(socket);
  }
  return socket;
}
