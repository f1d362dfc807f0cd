// Servers that listen for as long as the process lives.
import type { Server } from "node:net";

/** Refused connections are reported this often at most: whoever floods the port must not flood the log. */
const reportMs = 60_000;

/**
 * Resolves when the server listens. Later errors (no descriptor left to accept with) and refused connections go to `onError`, and the server goes on: an `error`
 * event without a listener would end the process. @throws Error when it cannot listen there
 */
export function startListening(
  server: Server,
  address: { port: number; host: string },
  onError: (error: Error) => void,
): Promise<void> {
  reportDrops(server, onError);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      server.on("error", onError);
      resolve();
    });
  });
}

function reportDrops(server: Server, onError: (error: Error) => void): void {
  let dropped = 0;
  let reportedAt = -Infinity;
  server.on("drop", () => {
    dropped += 1;
    if (performance.now() - reportedAt < reportMs) return;
    onError(new Error(`refused ${dropped} connections: ${server.maxConnections} stand open, the most that it takes`));
    dropped = 0;
    reportedAt = performance.now();
  });
}
