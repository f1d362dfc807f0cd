// The SSH server, asked by a client: programs and their ends, refusals, bounds, and sessions whose right is gone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { constants } from "node:os";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import ssh2, { type Client, type ClientChannel } from "ssh2";
import { afterEach, expect, test, vi } from "vitest";
import { InstanceAway, type RemoteProcess } from "../../backends/remote-process.ts";
import { toHostKey } from "./host-key.ts";
import { createSSHServer, type AuthorizedTarget, type SSHServerOptions } from "./ssh-server.ts";

const hostKey = toHostKey(new Uint8Array(32).fill(1)).privateKey;
const disposers: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposers.splice(0).reverse()) await dispose();
});

const PATIENCE = { timeout: 20_000 };
const ended: number[] = [];

/** A program of this machine in place of one beside an instance. */
function runHere({ command = "cat" }: { command?: string | undefined }): RemoteProcess {
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "pipe"], detached: true });
  child.stdin.on("error", () => undefined);
  const exited = once(child, "exit").then(([code, signal]: (number | string | null)[]) => ({
    ...(typeof code === "number" && { code }),
    ...(typeof signal === "string" && { signal }),
  }));
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    resize: () => undefined,
    end() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL");
      ended.push(child.pid!);
      return Promise.resolve();
    },
  };
}

const toTarget = (target: Partial<AuthorizedTarget>): AuthorizedTarget => ({
  open: (request) => Promise.resolve(runHere(request)),
  isStillAllowed: () => Promise.resolve(true),
  takePlace: () => () => undefined,
  takeConnection: () => () => undefined,
  onError: () => undefined,
  ...target,
});

async function startServer(
  target: Partial<AuthorizedTarget> = {},
  options: Partial<SSHServerOptions> = {},
): Promise<number> {
  const server = createSSHServer({
    hostKey,
    log: pino({ level: "silent" }),
    authorize: (user, code) => Promise.resolve(user === "cf:guid/0" && code === "code" ? toTarget(target) : undefined),
    ...options,
  });
  disposers.push(() => server.close());
  return server.listen("127.0.0.1", 0);
}

async function logIn(
  port: number,
  { username = "cf:guid/0", password = "code", sock }: { username?: string; password?: string; sock?: Socket } = {},
): Promise<Client> {
  const client = new ssh2.Client();
  disposers.push(() => client.destroy());
  const ready = new Promise<void>((resolve, reject) => {
    client.once("ready", resolve);
    client.on("error", reject);
  });
  client.connect({ host: "127.0.0.1", port, username, password, readyTimeout: 15_000, ...(sock && { sock }) });
  await ready;
  return client;
}

const exits = new WeakMap<ClientChannel, Promise<[number | null]>>();

const exec = (client: Client, command: string): Promise<ClientChannel> =>
  new Promise((resolve, reject) =>
    client.exec(command, (error, channel) => {
      if (error) return reject(error);
      // It may end before whoever waits for this promise runs.
      exits.set(channel, once(channel, "exit") as Promise<[number | null]>);
      resolve(channel);
    }),
  );

async function outcome(channel: ClientChannel): Promise<{ code: number | null; out: string; err: string }> {
  const [out, err, exit] = await Promise.all([text(channel), text(channel.stderr), exits.get(channel)]);
  return { code: exit?.[0] ?? null, out, err };
}

test("a program gets its input, and its output and status come back", async () => {
  const client = await logIn(await startServer());
  const channel = await exec(client, "cat; echo oops >&2; exit 3");
  channel.end("hello");
  expect(await outcome(channel)).toEqual({ code: 3, out: "hello", err: "oops\n" });
});

test("large output comes whole, also when the program has ended long before it is read", async () => {
  const client = await logIn(await startServer());
  const channel = await exec(client, "head -c 3000000 /dev/zero");
  channel.pause();
  const { out } = await outcome(channel);
  expect(out.length).toBe(3_000_000);
});

test("a channel that is closed ends its program, and so does the connection", async () => {
  const client = await logIn(await startServer());
  ended.length = 0;
  const [one] = await Promise.all([exec(client, "sleep 1000"), exec(client, "sleep 1001")]);
  one.close();
  await vi.waitFor(() => expect(ended).toHaveLength(1), PATIENCE);
  client.end();
  await vi.waitFor(() => expect(ended).toHaveLength(2), PATIENCE);
});

test("a second program on one session is refused, and the first runs on", async () => {
  const client = await logIn(await startServer());
  const channel = await exec(client, "cat");
  const { outgoing } = channel as unknown as { outgoing: { id: number } };
  const { _protocol: protocol } = client as unknown as {
    _protocol: { exec(id: number, command: string, wantReply: boolean): void };
  };
  protocol.exec(outgoing.id, "echo second", false);
  channel.end("first");
  expect((await outcome(channel)).out).toBe("first");
});

test("a program that an unnamed signal ends gives the status of a shell", async () => {
  const client = await logIn(await startServer());
  expect((await outcome(await exec(client, "kill -XCPU $$"))).code).toBe(128 + constants.signals.SIGXCPU);
});

test.each([
  ["the channel", (_client: Client, channel: ClientChannel) => channel.close()],
  ["the connection", (client: Client) => void client.destroy()],
])("%s that closes ends a program that reads no input, and gives its place back", async (_what, close) => {
  const leave = vi.fn();
  const client = await logIn(await startServer({ takePlace: () => leave }));
  ended.length = 0;
  const channel = await exec(client, "echo up; while :; do echo output >&2; sleep 0.01; done");
  channel.on("error", () => undefined).write(Buffer.alloc(1_000_000));
  await once(channel, "data");
  close(client, channel);
  await vi.waitFor(() => expect([new Set(ended).size, leave.mock.calls.length]).toEqual([1, 1]), PATIENCE);
});

test("a client that ignores the end is cut off when its right is gone", async () => {
  const isStillAllowed = vi.fn(() => Promise.resolve(true));
  const port = await startServer({ isStillAllowed }, { timings: { recheckMs: 50 } });
  const sock = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => undefined);
  const client = await logIn(port, { sock });
  await exec(client, "sleep 1000");
  sock.end = () => sock;
  ended.length = 0;
  isStillAllowed.mockResolvedValue(false);
  await vi.waitFor(() => expect(new Set(ended).size).toBe(1), PATIENCE);
});

test("a login that outlasts its client takes no connection of its user", async () => {
  const [asked, judged] = [Promise.withResolvers<void>(), Promise.withResolvers<AuthorizedTarget>()];
  const takeConnection = vi.fn(() => () => undefined);
  const target = toTarget({ takeConnection });
  const authorize = vi.fn(() => Promise.resolve<AuthorizedTarget | undefined>(toTarget({})));
  authorize.mockImplementationOnce(() => {
    asked.resolve();
    return judged.promise;
  });
  const port = await startServer({}, { authorize });
  const sock = connect(port, "127.0.0.1").on("error", () => undefined);
  logIn(port, { sock }).catch(() => undefined);
  await asked.promise;
  sock.destroy();
  // Other logins come after the server has seen the end of this one, and after its result.
  await logIn(port);
  judged.resolve(target);
  await logIn(port);
  expect(takeConnection).not.toHaveBeenCalled();
});

test("a forward that its client closes ends, also when its input was never read", async () => {
  const leave = vi.fn();
  const open = (): Promise<RemoteProcess> => Promise.resolve(runHere({ command: "printf +; sleep 1000" }));
  const client = await logIn(await startServer({ takePlace: () => leave, open }));
  ended.length = 0;
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.forwardOut("127.0.0.1", 1, "127.0.0.1", 80, (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  channel.write(Buffer.alloc(1_000_000));
  channel.close();
  await vi.waitFor(() => expect([new Set(ended).size, leave.mock.calls.length]).toEqual([1, 1]), PATIENCE);
});

test("a forward that is ready after its connection has gone ends, and gives its place back", async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const leave = vi.fn();
  const port = await startServer({
    takePlace: () => leave,
    async open() {
      asked.resolve();
      await gate.promise;
      return runHere({ command: "printf +; sleep 1000" });
    },
  });
  const client = await logIn(port);
  ended.length = 0;
  client.forwardOut("127.0.0.1", 1, "127.0.0.1", 80, () => undefined);
  await asked.promise;
  client.destroy();
  // Another login comes after the server has seen the end of this one.
  await logIn(port);
  gate.resolve();
  await vi.waitFor(() => expect([new Set(ended).size, leave.mock.calls.length]).toEqual([1, 1]), PATIENCE);
});

test("a program gives its place back once the platform has nothing open for it", async () => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const leave = vi.fn();
  const open: AuthorizedTarget["open"] = (request) => Promise.resolve({ ...runHere(request), gone });
  const client = await logIn(await startServer({ takePlace: () => leave, open }));
  // The second comes to its end after the server has followed the first to its own.
  for (const command of ["true", "sleep 0.1"]) await outcome(await exec(client, command));
  expect(leave).not.toHaveBeenCalled();
  resolve();
  await vi.waitFor(() => expect(leave).toHaveBeenCalledTimes(2), PATIENCE);
});

test.each([
  ["a wrong code", { password: "other" }],
  ["another instance", { username: "cf:guid/1" }],
])("%s is refused", async (_what, login) => {
  await expect(logIn(await startServer(), login)).rejects.toThrow(/authentication methods failed/);
});

test("an instance that is not there, and an app with too many sessions, are said in words", async () => {
  const away = await logIn(await startServer({ open: () => Promise.reject(new InstanceAway("Instance 0 is away.")) }));
  expect(await outcome(await exec(away, "id"))).toEqual({ code: 255, out: "", err: "Instance 0 is away.\n" });
  const full = await logIn(await startServer({ takePlace: () => undefined }));
  expect((await outcome(await exec(full, "id"))).err).toMatch(/too many sessions/);
});

test("a fault of the platform is not shown", async () => {
  const faults: unknown[] = [];
  const port = await startServer({
    open: () => Promise.reject(new Error("a secret")),
    onError: (error) => faults.push(error),
  });
  const { err } = await outcome(await exec(await logIn(port), "id"));
  expect([err, faults.length]).toEqual([expect.not.stringContaining("secret"), 1]);
});

test("forwards to an address, and refuses one where nobody listens", async () => {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  disposers.push(() => server.close());
  await once(server, "listening");
  const client = await logIn(await startServer());
  const forward = (port: number): Promise<ClientChannel> =>
    new Promise((resolve, reject) =>
      client.forwardOut("127.0.0.1", 1, "127.0.0.1", port, (error, channel) =>
        error ? reject(error) : resolve(channel),
      ),
    );
  const channel = await forward((server.address() as AddressInfo).port);
  channel.write("ping");
  expect(String((await once(channel, "data"))[0])).toBe("ping");
  channel.close();
  await expect(forward(1)).rejects.toThrow(/open failure/i);
});

test("neither sftp nor listening is offered", async () => {
  const client = await logIn(await startServer());
  await expect(new Promise((_resolve, reject) => client.sftp((error) => reject(error as Error)))).rejects.toThrow();
  await expect(
    new Promise((_resolve, reject) => client.forwardIn("127.0.0.1", 0, (error) => reject(error as Error))),
  ).rejects.toThrow();
});

test("sessions of a connection have a bound, and so have connections of a user", async () => {
  const client = await logIn(await startServer());
  const opened = await Promise.allSettled(Array.from({ length: 25 }, () => exec(client, "cat")));
  expect(opened.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
  const full = await logIn(await startServer({ takeConnection: () => undefined }));
  await once(full, "close");
});

test("a right that is gone ends the connection, and so does silence", async () => {
  const revoked = await logIn(
    await startServer({ isStillAllowed: () => Promise.resolve(false) }, { timings: { recheckMs: 50 } }),
  );
  await once(revoked, "close");
  const idle = await logIn(await startServer({}, { timings: { idleMs: 200 } }));
  await once(idle, "close");
});

test("connections that say nothing, or no SSH, keep nobody out", async () => {
  const port = await startServer();
  const sockets = Array.from({ length: 300 }, (_, at) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    if (at % 2) socket.write("GET / HTTP/1.1\r\n\r\n");
    return socket;
  });
  disposers.push(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.filter(({ connecting }) => connecting).map((socket) => once(socket, "connect")));
  expect((await outcome(await exec(await logIn(port), "echo in"))).out).toBe("in\n");
});
