// Allocates free host ports for instances, below the range of ephemeral ports.
import { createServer } from "node:net";

const first = 20_000;
const count = 12_000;

/** Allocates ports and holds them until they are released. */
export interface PortPool {
  /** `n` ports on which nobody listens. @throws Error when none is free, or when none can be tried (out of descriptors) */
  allocate(n: number): Promise<number[]>;
  /** Marks ports of instances from an earlier run as taken. */
  reserve(ports: readonly number[]): void;
  release(ports: readonly number[]): void;
}

/** Makes a pool. `start` (0..1) is its first position in the range; a random one keeps two platforms on one machine apart. */
export function createPortPool(start: number = Math.random()): PortPool {
  const taken = new Set<number>();
  let next = Math.floor(start * count);
  const giveUp = (port: number, cause: unknown): never => {
    taken.delete(port);
    throw new Error(`cannot test whether port ${port} is free: ${(cause as Error).message}`, { cause });
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

/** @throws any error of listening, unless the port is in use or not permitted */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" || error.code === "EACCES" ? resolve(false) : reject(error),
    );
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
