// The channels of an authenticated SSH connection: programs and shells beside an instance, and connections to what only the app reaches.
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Connection, ServerChannel, Session } from "ssh2";
import { InstanceAway, type RemoteProcess, type Terminal } from "../../backends/remote-process.ts";
import { toForwardCommand } from "./forward-command.ts";

/** How an SSH connection starts programs. */
export interface SessionTarget {
  open(request: { command: string | undefined; terminal?: Terminal | undefined }): Promise<RemoteProcess>;
  /** For an error that the person at the other end cannot mend. */
  onError(error: unknown): void;
  /** Takes a place among the app's channels; undefined when all are taken. Call the result when the channel is closed. */
  takePlace(): (() => void) | undefined;
  /** Called with each byte that passes. */
  onActivity(): void;
}

const TOO_MANY = "There are too many sessions in this app. Close others first.";
const CANNOT_START = "The shell cannot be started. Try again; the platform's log says why.";
/** Sessions of a connection, with and without a program: forwards have the app's places alone. */
const MAX_CHANNELS = 20;
/** As OpenSSH's, for errors of the connection. */
const FAILED = 255;
const CONNECT_MS = 15_000;
const MAX_SIDE = 1_000;

/** Serves the connection until it closes. */
export function serveSessions(connection: Connection, target: SessionTarget): void {
  let channels = 0;
  const takeChannel = (): boolean => {
    if (channels >= MAX_CHANNELS) return false;
    channels += 1;
    return true;
  };
  connection.on("session", (accept, reject) => {
    if (!takeChannel()) return reject();
    serveSession(
      accept().once("close", () => (channels -= 1)),
      target,
    );
  });
  connection.on("tcpip", (accept, reject, { destIP, destPort }) => {
    forward({ accept, reject }, toForwardCommand(destIP, destPort), target).catch((error: unknown) =>
      target.onError(error),
    );
  });
  // Listening in the container, as `ssh -R` asks for.
  connection.on("request", (_accept, reject) => reject?.());
}

function serveSession(session: Session, target: SessionTarget): void {
  let terminal: Terminal | undefined;
  let running: Promise<RemoteProcess | undefined> | undefined;
  session.on("pty", (accept, _reject, { rows, cols, ...info }) => {
    terminal = { term: toTerm((info as { term?: unknown }).term), rows: toSide(rows), columns: toSide(cols) };
    accept?.();
  });
  session.on("window-change", (accept, _reject, { rows, cols }) => {
    void running?.then((remote) => remote?.resize({ rows: toSide(rows), columns: toSide(cols) }));
    accept?.();
  });
  const start = (accept: () => ServerChannel, command: string | undefined): void => {
    running = run(accept(), { command, terminal }, target);
  };
  session.on("exec", (accept, _reject, { command }) => start(accept, command));
  session.on("shell", (accept) => start(accept, undefined));
  session.on("env", (_accept, reject) => reject?.());
  session.on("subsystem", (_accept, reject) => reject?.());
}

/** Runs a program to its end on the channel; resolves once it has started, or to undefined where it cannot. */
async function run(
  channel: ServerChannel,
  request: { command: string | undefined; terminal: Terminal | undefined },
  target: SessionTarget,
): Promise<RemoteProcess | undefined> {
  const leave = target.takePlace();
  channel.on("error", () => undefined);
  let isClosed = false;
  channel.once("close", () => {
    isClosed = true;
    leave?.();
  });
  try {
    if (!leave) throw new InstanceAway(TOO_MANY);
    const remote = await target.open(request);
    if (isClosed) await remote.end();
    else follow(channel, remote, target).catch((error: unknown) => target.onError(error));
    return remote;
  } catch (error) {
    if (!(error instanceof InstanceAway)) target.onError(error);
    channel.stderr.write(`${error instanceof InstanceAway ? error.message : CANNOT_START}\n`);
    channel.exit(FAILED);
    channel.end();
    return undefined;
  }
}

async function follow(channel: ServerChannel, remote: RemoteProcess, target: SessionTarget): Promise<void> {
  const closed = new Promise<void>((resolve) => channel.once("close", () => resolve()));
  channel.on("data", target.onActivity).pipe(remote.stdin);
  const outputs = [
    copy(remote.stdout, channel, target),
    ...(remote.stderr ? [copy(remote.stderr, channel.stderr, target)] : []),
  ];
  const exit = await Promise.race([remote.exited, closed]);
  // Whatever the program has left behind would keep its output open.
  await remote.end();
  await Promise.race([Promise.all(outputs), closed]);
  if (!exit) return;
  if (exit.signal) channel.exit(exit.signal.replace(/^SIG/, ""));
  else channel.exit(exit.code ?? FAILED);
  channel.end();
}

/** Resolves when all of it was written. */
function copy(from: Readable, to: NodeJS.WritableStream, { onActivity }: SessionTarget): Promise<void> {
  from.on("data", onActivity).pipe(to, { end: false });
  return new Promise((resolve) => {
    from.once("end", () => resolve());
    from.once("error", () => resolve());
    from.once("close", () => resolve());
  });
}

interface Opening {
  accept: () => ServerChannel;
  reject: () => void;
}

/** A connection from the instance to an address; refused when there is none. */
async function forward({ accept, reject }: Opening, command: string | undefined, target: SessionTarget): Promise<void> {
  const leave = command === undefined ? undefined : target.takePlace();
  if (!leave) return reject();
  const remote = await target.open({ command }).catch((error: unknown) => {
    if (!(error instanceof InstanceAway)) target.onError(error);
    return undefined;
  });
  try {
    if (!remote || !(await isConnected(remote))) return reject();
    await follow(accept(), remote, target);
  } finally {
    leave();
    await remote?.end();
  }
}

/** The first byte says that the connection stands. */
async function isConnected({ stdout, exited }: RemoteProcess): Promise<boolean> {
  const signal = AbortSignal.timeout(CONNECT_MS);
  const readable = new Promise<boolean>((resolve) => stdout.once("readable", () => resolve(stdout.read(1) !== null)));
  const late = delay(CONNECT_MS, false, { ref: false, signal }).catch(() => false);
  return Promise.race([readable, exited.then(() => false), late]);
}

function toTerm(value: unknown): string {
  return typeof value === "string" && /^[\w.+-]{1,64}$/.test(value) ? value : "xterm";
}

function toSide(value: number): number {
  return Math.min(Math.max(Math.trunc(value) || 24, 1), MAX_SIDE);
}
