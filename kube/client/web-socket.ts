// Opens a WebSocket to an API server, such as that of `pods/exec`, with the credential of a client.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import type { TlsOptions } from "./agents.ts";
import type { CallOptions } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { KubeError, type Status } from "./errors.ts";
import { toKubeError, withDeadline } from "./http-exchange.ts";

/** Kubernetes sends at most 32 KiB in a frame. */
const MAX_FRAME = 1024 * 1024;
/** Bytes of a refusal that are read. */
const MAX_BODY = 64 * 1024;

export interface WebSocketRequest {
  url: URL;
  protocol: string;
  credentials: Credentials;
  tls: TlsOptions;
  userAgent: string;
}

/** Resolves to a socket that is paused, so that no message is lost before somebody listens. @throws KubeError */
export async function openWebSocket(request: WebSocketRequest, options: CallOptions = {}): Promise<WebSocket> {
  // Loaded by processes that need it.
  const { WebSocket: Socket } = await import("ws");
  const { tls, credentials } = request;
  return withDeadline(options, (signal) => {
    const url = new URL(request.url);
    url.protocol = url.protocol === "http:" ? "ws:" : "wss:";
    const socket = new Socket(url, request.protocol, {
      headers: { "user-agent": request.userAgent, ...credentials.headers },
      maxPayload: MAX_FRAME,
      perMessageDeflate: false,
      ...(tls.ca !== undefined && { ca: tls.ca }),
      ...(tls.insecure && { rejectUnauthorized: false }),
      ...(tls.serverName && { servername: tls.serverName }),
      ...credentials.certificate,
    });
    return whenOpen(socket, signal);
  });
}

function whenOpen(socket: WebSocket, signal: AbortSignal): Promise<WebSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const onAbort = (): void => {
    socket.terminate();
    reject(toKubeError(signal.reason, signal));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  socket.once("open", () => {
    socket.pause();
    resolve(socket);
  });
  socket.on("unexpected-response", (sent, answer) => void toRefusal(sent, answer).then(reject));
  // After the handshake its users hear of errors by the event of closing.
  socket.on("error", (cause) => reject(toKubeError(cause, signal)));
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

async function toRefusal(sent: ClientRequest, answer: IncomingMessage): Promise<KubeError> {
  const code = answer.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY) break;
      chunks.push(chunk);
    }
    const status = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Partial<Status> | null;
    if (status?.kind === "Status") return new KubeError({ ...status, code });
  } catch (cause) {
    return refusedWith(code, cause);
  } finally {
    sent.destroy();
  }
  return refusedWith(code);
}

function refusedWith(code: number, cause?: unknown): KubeError {
  return new KubeError(
    { code, reason: "", message: `the API server's address refused a WebSocket with ${code}` },
    { cause },
  );
}
