// Servers that listen for as long as the process lives.
import type { Server } from "node:net";

/**
 * Resolves when the server listens. What goes wrong later (no descriptor left to accept with, say) is told to `onFault`, and the server goes on: an `error`
 * event that nobody hears would end the process. @throws Error when it cannot listen there
 */
export function startListening(
  server: Server,
  address: { port: number; host: string },
  onFault: (error: Error) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      server.on("error", onFault);
      resolve();
    });
  });
}
