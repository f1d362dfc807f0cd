// Free ports of the host for instances, below the range from which systems take ports of outgoing connections.
import { createServer } from "node:net";

const first = 20_000;
const count = 12_000;

/** Hands out ports and remembers them until they are released. */
export interface PortPool {
  /** `n` ports that nobody listens on now. @throws Error when none is free, or when none can be tried (out of descriptors) */
  allocate(n: number): Promise<number[]>;
  /** Marks ports as taken that an earlier run handed out. */
  reserve(ports: readonly number[]): void;
  release(ports: readonly number[]): void;
}

/** Makes a pool; `start` (0..1) says where in the range it begins, so that two platforms on one machine seldom meet. */
export function createPortPool(start: number = Math.random()): PortPool {
  const taken = new Set<number>();
  let next = Math.floor(start * count);
  const giveUp = (port: number, cause: unknown): never => {
    taken.delete(port);
    throw new Error(`whether port ${port} is free cannot be tried: ${(cause as Error).message}`, { cause });
  };
  const takeOne = async (): Promise<number> => {
    for (let tries = 0; tries < count; tries++) {
      const port = first + (next++ % count);
      if (taken.has(port)) continue;
      taken.add(port);
      if (await isFree(port).catch((error: unknown) => giveUp(port, error))) return port;
      taken.delete(port);
    }
    throw new Error(`no free port between ${first} and ${first + count}`);
  };
  return {
    allocate: (n) => Promise.all(Array.from({ length: n }, takeOne)),
    reserve: (ports) => ports.forEach((port) => taken.add(port)),
    release: (ports) => ports.forEach((port) => taken.delete(port)),
  };
}

/** @throws the error of any failure but that the port is in use or not for us */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" || error.code === "EACCES" ? resolve(false) : reject(error),
    );
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
