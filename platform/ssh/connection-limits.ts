// Bounds connections to the SSH proxy that nobody has authenticated yet: each costs a key exchange, and a flood of them must not keep others out.
import type { Socket } from "node:net";

const MAX_WAITING = 64;
const LOGIN_MS = 20_000;

export interface WaitingRoom {
  /**
   * Where all places are taken, a connection of the address with the most is closed: its oldest that has sent nothing, else any of them. Behind a balancer
   * all clients have one address, so that an honest handshake, which takes a moment, must be unlikely to be the one.
   */
  enter(socket: Socket): void;
  /** For one that has authenticated. */
  leave(socket: Socket): void;
  readonly size: number;
}

/** `random`: from 0 to 1. */
export function createWaitingRoom({
  max = MAX_WAITING,
  loginMs = LOGIN_MS,
  random = (): number => Math.random(),
} = {}): WaitingRoom {
  const waiting: Waiting = new Map();
  const leave = (socket: Socket): void => {
    clearTimeout(waiting.get(socket)?.timer);
    waiting.delete(socket);
  };
  return {
    enter(socket) {
      if (waiting.size >= max) {
        const crowding = findCrowding(waiting, random());
        // It leaves at once: its event of closing comes later.
        if (crowding) leave(crowding);
        crowding?.destroy();
      }
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

type Waiting = Map<Socket, { address: string; timer: NodeJS.Timeout }>;

function findCrowding(waiting: Waiting, random: number): Socket | undefined {
  const byAddress = Map.groupBy(waiting.keys(), (socket) => waiting.get(socket)?.address);
  const most = [...byAddress.values()].reduce<Socket[]>(
    (found, sockets) => (sockets.length > found.length ? sockets : found),
    [],
  );
  return most.find(({ bytesRead }) => bytesRead === 0) ?? most[Math.floor(random * most.length)];
}
