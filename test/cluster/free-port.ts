// Ports for programs that cannot be told "any port" and then asked which.
import { createServer, type AddressInfo } from "node:net";

/** A loopback TCP port that was free a moment ago. Another process may take it first: callers retry. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
