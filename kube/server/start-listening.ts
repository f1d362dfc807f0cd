// Starts servers that listen until the process ends.
import type { Server } from "node:net";

/** Minimum time between reports of refused connections, so that a flood of connections does not flood the log. */
const reportMs = 60_000;

/**
 * Resolves when the server listens. Later errors, such as a missing file descriptor for accept, go to `onError`, because an `error`
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
