// Child process: an app that answers at once with a hundred bytes.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "../child-process.ts";

const body = "x".repeat(100);
const server = createServer((_request, response) => {
  response.setHeader("Content-Length", body.length);
  response.end(body);
});
server.keepAliveTimeout = 60_000;
await once(server.listen(0, "127.0.0.1"), "listening");
serveParent({ port: () => (server.address() as AddressInfo).port }, async () => server.closeAllConnections());
