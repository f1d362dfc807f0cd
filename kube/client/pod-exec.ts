// Runs a program in a container by `pods/exec`: its input, outputs and terminal as channels of one WebSocket (v5.channel.k8s.io), with backpressure both ways.
import { Readable, Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { CallOptions, KubeClient } from "./client.ts";
import type { Status } from "./errors.ts";

const PROTOCOL = "v5.channel.k8s.io";
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
const RESIZE = 4;
const CLOSE = 255;
const END_OF_TRANSMISSION = 4;

/** A connection whose other end is silent for two of these is dead. */
const PING_MS = 15_000;
const MAX_STATUS = 64 * 1024;

export interface PodExecRequest {
  namespace: string;
  pod: string;
  container: string;
  command: readonly string[];
  /** Both outputs are one then. */
  tty: boolean;
}

/** `failure`: it did not start, or the connection broke. */
export type PodExecEnd = { code: number } | { failure: string };

export interface PodExec {
  stdin: Writable;
  stdout: Readable;
  /** Undefined with a terminal. */
  stderr: Readable | undefined;
  /** Resolves when the program has ended and nothing holds its outputs. Never rejects. */
  ended: Promise<PodExecEnd>;
  /** Does nothing without a terminal. */
  resize(size: { rows: number; columns: number }): void;
  /** Closes the connection. Kubernetes does not end the program then. */
  close(): void;
}

/** Resolves when the API server has taken the request; the program may still fail to start. @throws KubeError */
export async function execInPod(
  client: Pick<KubeClient, "webSocket">,
  { namespace, pod, container, command, tty }: PodExecRequest,
  options?: CallOptions,
): Promise<PodExec> {
  const query = new URLSearchParams({
    container,
    stdin: "true",
    stdout: "true",
    ...(!tty && { stderr: "true" }),
    tty: String(tty),
  });
  for (const argument of command) query.append("command", argument);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${query.toString()}`;
  return toPodExec(await client.webSocket(path, PROTOCOL, options), tty);
}

/** @param socket paused */
function toPodExec(socket: WebSocket, tty: boolean): PodExec {
  const { add, push } = createOutputs(socket);
  const [stdout, stderr] = [add(), tty ? undefined : add()];
  let status = "";
  socket.on("message", (data) => {
    const frame = toBuffer(data);
    const content = frame.subarray(1);
    if (frame[0] === STDOUT) push(stdout, content);
    if (frame[0] === STDERR) push(stderr, content);
    if (frame[0] === STATUS && status.length < MAX_STATUS) status += content.toString("utf8");
  });
  const stdin = toInput(socket, tty);
  const ended = new Promise<PodExecEnd>((resolve) => {
    socket.once("close", () => {
      for (const stream of [stdout, stderr]) if (stream && !stream.destroyed) stream.push(null);
      stdin.destroy();
      resolve(toEnd(status));
    });
  });
  keepAlive(socket);
  socket.resume();
  const resize: PodExec["resize"] = ({ rows, columns }) =>
    send(socket, RESIZE, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  return {
    stdin,
    stdout,
    stderr,
    ended,
    resize: tty ? resize : () => undefined,
    close: () => socket.terminate(),
  };
}

/** Streams of one socket, which is paused while the reader of any is behind. */
function createOutputs(socket: WebSocket): {
  add: () => Readable;
  push: (stream: Readable | undefined, chunk: Buffer) => void;
} {
  const behind = new Set<Readable>();
  const leave = (stream: Readable): void => {
    if (behind.delete(stream) && behind.size === 0) socket.resume();
  };
  return {
    add() {
      const stream: Readable = new Readable({
        read: () => leave(stream),
        destroy(error, done) {
          // Nobody reads it any more, so it holds nothing up.
          leave(stream);
          done(error);
        },
      });
      return stream;
    },
    push(stream, chunk) {
      if (!stream || stream.destroyed || chunk.length === 0 || stream.push(chunk)) return;
      behind.add(stream);
      socket.pause();
    },
  };
}

/** Containerd gives up the outputs of a terminal whose input is closed, so the program reads a Ctrl-D instead, as `script` does it. */
function toInput(socket: WebSocket, tty: boolean): Writable {
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => send(socket, STDIN, chunk, done),
    final: (done) =>
      tty ? send(socket, STDIN, Buffer.of(END_OF_TRANSMISSION), done) : send(socket, CLOSE, Buffer.of(STDIN), done),
  });
  // A program that reads no more is no fault.
  return stream.on("error", () => undefined);
}

function send(
  socket: WebSocket,
  channel: number,
  content: Buffer,
  done: (error?: Error | null) => void = () => undefined,
): void {
  if (socket.readyState === socket.OPEN)
    socket.send(Buffer.concat([Buffer.of(channel), content]), (error) => done(error));
  else done();
}

function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** Balancers close connections that are silent, and a machine that is gone closes nothing. A socket that is paused hears no pong: its reader is alive. */
function keepAlive(socket: WebSocket): void {
  let isHeard = true;
  socket.on("pong", () => (isHeard = true));
  socket.on("message", () => (isHeard = true));
  const timer = setInterval(() => {
    if (!isHeard && !socket.isPaused) return socket.terminate();
    isHeard = false;
    if (socket.readyState === socket.OPEN) socket.ping();
  }, PING_MS).unref();
  socket.once("close", () => clearInterval(timer));
}

/** Pure. @param text the Status of the channel of errors; empty when the connection broke before */
export function toEnd(text: string): PodExecEnd {
  const status = parseStatus(text);
  if (!status) return { failure: "the connection to the container broke" };
  if (status.status === "Success") return { code: 0 };
  const causes = status.details?.causes ?? [];
  const code = causes.find(({ reason }) => reason === "ExitCode")?.message;
  return code !== undefined && /^\d{1,3}$/.test(code)
    ? { code: Number(code) }
    : { failure: status.message ?? "the program did not start" };
}

function parseStatus(text: string): Partial<Status> | undefined {
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as Partial<Status>;
  } catch {
    return { message: text };
  }
}
