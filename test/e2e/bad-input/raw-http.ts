// Bytes to a port and what comes back, for requests that no HTTP client would send.
import { connect } from "node:net";

export interface RawAnswer {
  /** undefined: closed without a word; 0: left hanging. */
  status: number | undefined;
  text: string;
}

/** Sends, and waits until the other side has answered with a body's end or closed; status 0 when neither happens within the deadline. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  options: { deadlineMs: number; halfClose?: boolean },
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const timer = setTimeout(() => {
      socket.destroy();
      resolve({ status: 0, text });
    }, options.deadlineMs);
    function finish(): void {
      clearTimeout(timer);
      socket.destroy();
      resolve({ status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]) || undefined, text });
    }
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (isWhole(text)) finish();
    });
    socket.on("close", finish);
    // A reset is an answer, too: the other side wants no more of it.
    socket.on("error", finish);
    socket.on("connect", () => (options.halfClose ? socket.end(bytes) : socket.write(bytes)));
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)$/im.exec(text)?.[1];
  const isChunked = /^transfer-encoding: chunked$/im.test(text);
  return (
    end >= 0 &&
    (isChunked
      ? text.endsWith("0\r\n\r\n")
      : length !== undefined && Buffer.byteLength(text.slice(end + 4)) >= Number(length))
  );
}
