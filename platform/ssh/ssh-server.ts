// The SSH server of `cf ssh`: takes connections within bounds, authenticates them by a code, and ends them when they are idle or no longer allowed.
import { once } from "node:events";
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import ssh2, { type AuthContext, type Connection } from "ssh2";
import type { Logger } from "pino";
import { createWaitingRoom } from "./connection-limits.ts";
import { serveSessions, type SessionTarget } from "./ssh-sessions.ts";

const MAX_CONNECTIONS = 1_000;
const MAX_ATTEMPTS = 3;
const IDLE_MS = 30 * 60_000;
/** For the last packet to a client that reads nothing. */
const GOODBYE_MS = 1_000;
/** How long after its revocation a right ends sessions. */
const RECHECK_MS = 60_000;
/** Rechecks that fail because the cluster does not answer, until sessions end. */
const MAX_UNANSWERED = 5;

/** The result of a login. */
export interface AuthorizedTarget extends Omit<SessionTarget, "onActivity"> {
  /** Rejects when the cluster does not answer. */
  isStillAllowed(): Promise<boolean>;
  /** Undefined when the user has as many connections as one may have; else the function that gives the place back. */
  takeConnection(): (() => void) | undefined;
}

export interface SSHServerOptions {
  /** In the format of OpenSSH. */
  hostKey: string;
  /** Undefined: refused. Must not throw. */
  authorize(user: string, code: string): Promise<AuthorizedTarget | undefined>;
  log: Logger;
  timings?: { idleMs?: number; recheckMs?: number; loginMs?: number };
}

export interface SSHServer {
  /** Resolves to the port. @throws Error when it is taken */
  listen(host: string, port: number): Promise<number>;
  /** Ends all connections. */
  close(): Promise<void>;
}

export function createSSHServer(options: SSHServerOptions): SSHServer {
  const { loginMs } = options.timings ?? {};
  const room = createWaitingRoom(loginMs === undefined ? {} : { loginMs });
  const sockets = new Map<string, Socket>();
  const ssh = new ssh2.Server({ hostKeys: [options.hostKey], ident: "cupola" }, (connection, { ip, port }) => {
    const socket = sockets.get(`${ip}:${port}`);
    if (!socket) return void connection.end();
    serveConnection({ connection, socket, hangUp: () => hangUp(connection, socket) }, options, () =>
      room.leave(socket),
    );
  });
  const net = createServer({ noDelay: true }, (socket) => {
    const key = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(key, socket);
    socket.once("close", () => sockets.delete(key));
    socket.on("error", () => undefined);
    room.enter(socket);
    ssh.injectSocket(socket);
  });
  net.maxConnections = MAX_CONNECTIONS;
  return {
    listen: (host, port) => listen(net, host, port),
    async close() {
      const closed = net.listening ? once(net, "close") : undefined;
      net.close();
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

async function listen(net: NetServer, host: string, port: number): Promise<number> {
  net.listen(port, host);
  await once(net, "listening");
  return (net.address() as AddressInfo).port;
}

interface Client {
  connection: Connection;
  socket: Socket;
  hangUp(): void;
}

/** Says goodbye, and closes the connection whatever the client does: `end` of ssh2 leaves that to the client. */
function hangUp(connection: Connection, socket: Socket): void {
  connection.end();
  socket.destroySoon();
  setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
}

function serveConnection(
  client: Client,
  { authorize, log, timings = {} }: SSHServerOptions,
  onAuthenticated: () => void,
): void {
  const { connection, socket } = client;
  let target: AuthorizedTarget | undefined;
  let attempts = 0;
  // Clients that go away, and those that speak no SSH.
  connection.on("error", (err) => {
    log.debug({ err }, "an SSH connection failed");
    client.hangUp();
  });
  connection.on("authentication", (context) => {
    if (context.method === "none") return context.reject(["password"]);
    attempts += 1;
    if (context.method !== "password" || attempts > MAX_ATTEMPTS) {
      context.reject(["password"]);
      if (attempts > MAX_ATTEMPTS) client.hangUp();
      return;
    }
    authorize(context.username, context.password)
      .then((found) => {
        // A client that has gone meanwhile would take a place that nothing gives back.
        if (socket.destroyed) return;
        target = found;
        answer(context, found !== undefined);
      })
      .catch((err: unknown) => {
        log.warn({ err }, "an SSH login failed");
        client.hangUp();
      });
  });
  connection.on("ready", () => {
    const leave = target?.takeConnection();
    if (!target || !leave) return client.hangUp();
    connection.once("close", leave);
    onAuthenticated();
    const watch = watchConnection(client, target, { idleMs: IDLE_MS, recheckMs: RECHECK_MS, ...timings });
    serveSessions(connection, { ...target, onActivity: watch.onActivity });
  });
}

function answer(context: AuthContext, isAllowed: boolean): void {
  if (isAllowed) context.accept();
  else context.reject(["password"]);
}

/** Ends the connection after a time without a byte, and when the caller's right is gone. */
function watchConnection(
  { connection, hangUp }: Client,
  target: AuthorizedTarget,
  { idleMs, recheckMs }: { idleMs: number; recheckMs: number },
): { onActivity: () => void } {
  const idle = setTimeout(hangUp, idleMs).unref();
  let unanswered = 0;
  const recheck = setInterval(() => {
    target.isStillAllowed().then(
      (isAllowed) => {
        unanswered = 0;
        if (!isAllowed) hangUp();
      },
      () => {
        unanswered += 1;
        if (unanswered >= MAX_UNANSWERED) hangUp();
      },
    );
  }, recheckMs).unref();
  connection.once("close", () => {
    clearTimeout(idle);
    clearInterval(recheck);
  });
  return { onActivity: () => void idle.refresh() };
}
