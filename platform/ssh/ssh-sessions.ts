// The channels of an authenticated SSH connection: programs and shells beside an instance, and connections to what only the app reaches.
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Connection, ServerChannel, Session } from "ssh2";
import { InstanceAway, type RemoteExit, type RemoteProcess, type Terminal } from "../../backends/remote-process.ts";
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

/** A channel as the client sees it: ssh2's own event waits until all input has been read. */
interface Closing {
  /** Resolves when the client has closed the channel or the connection. */
  closed: Promise<void>;
  isClosed(): boolean;
  close(): void;
}

/** Serves the connection until it closes. */
export function serveSessions(connection: Connection, target: SessionTarget): void {
  let channels = 0;
  const open = new Set<Closing>();
  const track = (): Closing => {
    const closing = createClosing(() => open.delete(closing));
    open.add(closing);
    return closing;
  };
  connection.once("close", () => {
    for (const closing of open) closing.close();
  });
  connection.on("session", (accept, reject) => {
    if (channels >= MAX_CHANNELS) return reject();
    const session = accept() as Session | undefined;
    if (!session) return;
    channels += 1;
    const closing = track();
    session.once("close", () => {
      channels -= 1;
      closing.close();
    });
    serveSession(session, target, closing);
  });
  connection.on("tcpip", (accept, reject, { destIP, destPort }) => {
    const command = toForwardCommand(destIP, destPort);
    forward({ accept, reject, closing: track() }, command, target).catch((error: unknown) => target.onError(error));
  });
  // Listening in the container, as `ssh -R` asks for.
  connection.on("request", (_accept, reject) => reject?.());
}

function createClosing(onClose: () => void): Closing {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isClosed = false;
  return {
    closed: promise,
    isClosed: () => isClosed,
    close() {
      isClosed = true;
      onClose();
      resolve();
    },
  };
}

function serveSession(session: Session, target: SessionTarget, closing: Closing): void {
  let terminal: Terminal | undefined;
  let running: Promise<RemoteProcess | undefined> | undefined;
  const onError = (error: unknown): undefined => {
    target.onError(error);
  };
  session.on("pty", (accept, _reject, { rows, cols, ...info }) => {
    terminal = { term: toTerm((info as { term?: unknown }).term), rows: toSide(rows), columns: toSide(cols) };
    accept?.();
  });
  session.on("window-change", (accept, _reject, { rows, cols }) => {
    running?.then((remote) => remote?.resize({ rows: toSide(rows), columns: toSide(cols) })).catch(onError);
    accept?.();
  });
  const start = ({ accept, reject }: Request, command: string | undefined): void => {
    // A session runs one program: ssh2 gives no channel for a second.
    if (running) return reject?.();
    const channel = accept();
    if (channel) running = run({ channel, closing }, { command, terminal }, target).catch(onError);
  };
  session.on("exec", (accept, reject, { command }) => start({ accept, reject }, command));
  session.on("shell", (accept, reject) => start({ accept, reject }, undefined));
  session.on("env", (_accept, reject) => reject?.());
  session.on("subsystem", (_accept, reject) => reject?.());
}

/** `accept` returns undefined, against its type in ssh2, where the session is ending. */
interface Request {
  accept: () => ServerChannel | undefined;
  reject: (() => void) | undefined;
}

interface OpenChannel {
  channel: ServerChannel;
  closing: Closing;
}

/** Runs a program to its end on the channel; resolves once it has started, or to undefined where it cannot. */
async function run(
  open: OpenChannel,
  request: { command: string | undefined; terminal: Terminal | undefined },
  target: SessionTarget,
): Promise<RemoteProcess | undefined> {
  ignoreErrors(open.channel);
  const leave = target.takePlace();
  try {
    if (!leave) throw new InstanceAway(TOO_MANY);
    const remote = await target.open(request);
    follow(open, remote, target)
      .finally(() => remote.gone)
      .catch((error: unknown) => target.onError(error))
      .finally(leave);
    return remote;
  } catch (error) {
    leave?.();
    if (!(error instanceof InstanceAway)) target.onError(error);
    if (!open.closing.isClosed()) refuse(open.channel, error instanceof InstanceAway ? error.message : CANNOT_START);
    return undefined;
  }
}

/** Output may come after the client has closed the channel. */
function ignoreErrors(channel: ServerChannel): void {
  channel.on("error", () => undefined);
  channel.stderr.on("error", () => undefined);
}

function refuse(channel: ServerChannel, reason: string): void {
  channel.stderr.write(`${reason}\n`);
  channel.exit(FAILED);
  channel.end();
}

/** Ends the program when the client has closed the channel, also where its input was never read. */
async function follow({ channel, closing }: OpenChannel, remote: RemoteProcess, target: SessionTarget): Promise<void> {
  channel.on("data", target.onActivity).pipe(remote.stdin);
  const outputs = [
    copy(remote.stdout, channel, target),
    ...(remote.stderr ? [copy(remote.stderr, channel.stderr, target)] : []),
  ];
  try {
    const exit = await Promise.race([remote.exited, closing.closed]);
    // Whatever the program has left behind would keep its output open.
    await remote.end();
    await Promise.race([Promise.all(outputs), closing.closed]);
    if (exit) reportExit(channel, exit);
  } finally {
    remote.stdout.destroy();
    remote.stderr?.destroy();
    // ssh2 forgets the channel once its input has been read.
    channel.unpipe(remote.stdin).resume();
  }
}

function reportExit(channel: ServerChannel, { code, signal }: RemoteExit): void {
  try {
    if (signal) channel.exit(signal.replace(/^SIG/, ""));
    else channel.exit(code ?? FAILED);
  } catch {
    // SSH has no name for the signal: its status is that of a shell.
    channel.exit(128 + (constants.signals[signal as NodeJS.Signals] ?? 0));
  } finally {
    channel.end();
  }
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
  accept: () => ServerChannel | undefined;
  reject: () => void;
  closing: Closing;
}

/** A connection from the instance to an address; refused when there is none. */
async function forward(opening: Opening, command: string | undefined, target: SessionTarget): Promise<void> {
  const { reject, closing } = opening;
  const leave = command === undefined ? undefined : target.takePlace();
  if (!leave) {
    closing.close();
    return reject();
  }
  let remote: RemoteProcess | undefined;
  try {
    remote = await target.open({ command });
    const isUp = await Promise.race([isConnected(remote), closing.closed]);
    if (!isUp || closing.isClosed()) return reject();
    await followForward(opening, remote, target);
  } catch (error) {
    reject();
    if (!(error instanceof InstanceAway)) throw error;
  } finally {
    closing.close();
    await remote?.end();
    await remote?.gone;
    leave();
  }
}

async function followForward(
  { accept, closing }: Opening,
  remote: RemoteProcess,
  target: SessionTarget,
): Promise<void> {
  const channel = accept();
  if (!channel) return;
  ignoreErrors(channel);
  // ssh2 ends this stream as soon as the client closes the channel.
  channel.stderr.once("finish", () => closing.close());
  channel.once("close", () => closing.close());
  // A forwarded connection has no second output.
  remote.stderr?.resume();
  await follow({ channel, closing }, { ...remote, stderr: undefined }, target);
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
