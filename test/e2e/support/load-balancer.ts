// Load balancer of the replicas on a cluster: every request goes to the next replica that is up.
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A replica as the balancer sees it. */
export interface BalancerBackend {
  port: number;
  up: boolean;
}

export interface LoadBalancer {
  port: number;
  close(): Promise<void>;
}

/** As the platform's own port takes. */
const LIMITS = { maxHeaderSize: 64 * 1024, requestTimeout: 0, keepAliveTimeout: 75_000 };

/** Listens on a free port, or on the one given. `doors` is read at each request. */
export async function startLoadBalancer(backends: readonly BalancerBackend[], port = 0): Promise<LoadBalancer> {
  const agent = new Agent({ keepAlive: true });
  let nextIndex = 0;
  const choose = (): BalancerBackend | undefined => {
    const open = backends.filter(({ up }) => up);
    return open[nextIndex++ % open.length];
  };
  const server = createServer(LIMITS, (request, response) => {
    const backend = choose();
    if (backend) forward(agent, backend, request, response);
    else response.writeHead(503).end();
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const backend = choose();
    if (backend) tunnel(backend, request, socket, head);
    else socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n");
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function forward(agent: Agent, backend: BalancerBackend, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const upstream = send(
    { host: "127.0.0.1", port: backend.port, method, path: url, headers, agent, setHost: false },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      // A client that lost its replica in the middle of an answer learns of it.
      answer.on("error", () => response.destroy());
    },
  );
  upstream.on("error", (error: NodeJS.ErrnoException) => {
    // A replica may close a connection just as it is used again. Nothing of the request has been read then.
    if (upstream.reusedSocket && error.code === "ECONNRESET" && method === "GET" && !response.headersSent)
      forward(agent, backend, request, response);
    else if (!response.headersSent) response.destroy();
  });
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
}

function tunnel({ port }: BalancerBackend, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = request.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : []));
  const upstream = connect(port, "127.0.0.1", () => {
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
}
