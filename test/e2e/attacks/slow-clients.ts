// Clients that begin a request and never finish it: half headers, half bodies, or nothing at all.
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Bytes that each of them sends before it falls silent. */
export const beginnings = {
  "half a header": "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
  "half a body":
    "POST /v3/apps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
  nothing: "",
} as const;
export type Beginning = keyof typeof beginnings;

export interface SlowClients {
  /** Connections that the other side has not closed. */
  open(beginning: Beginning): number;
  stop(): void;
}

/** Opens `count` connections of each beginning to a port, over TLS where `tls`, and leaves them as they are. */
export function startSlowClients({ port, tls, count }: { port: number; tls: boolean; count: number }): SlowClients {
  const sockets: { beginning: Beginning; socket: Socket }[] = [];
  for (const beginning of Object.keys(beginnings) as Beginning[])
    for (let at = 0; at < count; at++) {
      // Over TLS, who sends nothing does not even shake hands.
      const isPlain = !tls || beginning === "nothing";
      const options = { port, host: "127.0.0.1" };
      const socket = isPlain ? connect(options) : connectTls({ ...options, rejectUnauthorized: false });
      socket.on("error", () => undefined).on("data", () => undefined);
      socket.once(isPlain ? "connect" : "secureConnect", () => socket.write(beginnings[beginning]));
      sockets.push({ beginning, socket });
    }
  return {
    open: (beginning) => sockets.filter((one) => one.beginning === beginning && !one.socket.closed).length,
    stop() {
      for (const { socket } of sockets) socket.destroy();
    },
  };
}
