// A client that does almost nothing, so that the server is what is measured: one socket, one request after the other, answers counted by their length.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RawClient {
  /** Sends a GET; resolves when the whole answer is here. @throws Error when it is not 200 or has no Content-Length */
  get(path: string): Promise<void>;
  close(): void;
}

const HEAD_END = "\r\n\r\n";

/** Connects to `http://host:port`. */
export async function rawClient(url: string, headers: Record<string, string>): Promise<RawClient> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay();
  await once(socket, "connect");
  const fields = Object.entries({ host, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  return {
    async get(path) {
      const answer = receive(socket);
      socket.write(`GET ${path} HTTP/1.1\r\n${fields}\r\n`);
      await answer;
    },
    close: () => socket.destroy(),
  };
}

function receive(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing: number | undefined;
    const end = (error?: Error): void => {
      socket.off("data", take).off("error", end).off("close", gone);
      if (error) reject(error);
      else resolve();
    };
    const gone = (): void => end(new Error("the server closed the connection"));
    const take = (chunk: Buffer): void => {
      try {
        missing = missing === undefined ? lengthOf(chunk) - chunk.length : missing - chunk.length;
      } catch (error) {
        return end(error as Error);
      }
      if (missing === 0) end();
    };
    socket.on("data", take).on("error", end).on("close", gone);
  });
}

/** Bytes of the whole answer, by its first ones; heads of our answers come in one piece. */
function lengthOf(first: Buffer): number {
  const end = first.indexOf(HEAD_END);
  const head = first.toString("latin1", 0, end);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) throw new Error(`answered ${head}`);
  return end + HEAD_END.length + Number(length);
}
