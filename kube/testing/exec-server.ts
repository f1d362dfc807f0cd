// An API server that knows `pods/exec` alone, and runs programs of this machine in place of a container's. As Kubernetes, it ends no program when a connection ends.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";

export interface ExecServer {
  url: string;
  /** Requests, as they came. */
  requests: IncomingMessage[];
  /** Process ids of the programs, in the order of the requests. */
  pids: (number | undefined)[];
  /** How many are open. */
  connections(): number;
  /** Breaks all connections, as a proxy that is killed. */
  breakAll(): void;
  close(): Promise<void>;
}

export async function startExecServer({ programs = {} as Record<string, string> } = {}): Promise<ExecServer> {
  const requests: IncomingMessage[] = [];
  const pids: (number | undefined)[] = [];
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: (offered) => (offered.has("v5.channel.k8s.io") ? "v5.channel.k8s.io" : false),
    verifyClient: ({ req }: { req: IncomingMessage }) => !req.url?.includes("/pods/forbidden/"),
  });
  server.on("connection", (socket, request) => {
    requests.push(request);
    const [file = "", ...args] = new URL(request.url ?? "", "http://server").searchParams.getAll("command");
    const child = spawn(programs[file] ?? file, args, { stdio: "pipe", detached: true });
    pids.push(child.pid);
    serve(socket, child);
  });
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    pids,
    connections: () => server.clients.size,
    breakAll: () => server.clients.forEach((socket) => socket.terminate()),
    async close() {
      for (const pid of pids) endGroup(pid);
      server.clients.forEach((socket) => socket.terminate());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function serve(socket: WebSocket, child: ChildProcess): void {
  const send = (channel: number, content: Buffer | string): void =>
    socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(content)]));
  child.stdin!.on("error", () => undefined);
  child.stdout!.on("data", (chunk: Buffer) => send(1, chunk));
  child.stderr!.on("data", (chunk: Buffer) => send(2, chunk));
  socket.on("message", (data: Buffer) => {
    if (data[0] === 0) child.stdin!.write(data.subarray(1));
    if (data[0] === 255) child.stdin!.end();
  });
  socket.on("close", () => child.stdin!.end());
  const finish = (status: object): void => {
    send(3, JSON.stringify(status));
    socket.close();
  };
  child.on("error", (error) =>
    finish({ status: "Failure", message: `exec failed: ${error.message}: no such file or directory` }),
  );
  // After all outputs are closed, as containerd does.
  child.on("close", (code, signal) => {
    if (code === 0) return finish({ status: "Success" });
    if (child.pid === undefined) return;
    const status = signal ? 137 : code;
    finish({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: String(status) }] },
    });
  });
}
