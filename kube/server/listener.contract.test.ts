// Limits of every listener, with real sockets: slow and silent peers are disconnected, streams stay open, targets are normalized, upgrades are chosen.
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { createListener, type Listener, type ListenerLimits, type ListenerOptions } from "./listener.ts";
import { countDescriptors } from "./descriptor-limit.ts";
import { issueCertificate, makeAuthority } from "./pki.ts";
import { maxPipelined } from "./stalled-peers.ts";
import { startListening } from "./start-listening.ts";

const limits: ListenerLimits = { headersMs: 80, stallMs: 250, idleMs: 100, checkMs: 10 };
const open: { server: Listener; sockets: Socket[] }[] = [];
afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
  }
});

async function serve(handler: RequestListener, options: Partial<ListenerOptions> = {}) {
  const server = createListener({ share: 0.1, limits, ...options }, handler);
  await startListening(server, { port: 0, host: "127.0.0.1" }, () => undefined);
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  open.push({ server, sockets });
  const dial = (message = ""): Socket => {
    const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
    sockets.push(socket);
    socket.write(message);
    return socket;
  };
  return { server, port, dial };
}
/** Resolves with the received text when the server has closed the connection. */
const untilClosed = (socket: Socket): Promise<string> => text(socket).catch(() => "");

async function* paced(pieces: Iterable<string>, pauseMs: number): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

const echo: RequestListener = (request, response) => void request.pipe(response);

describe("a slow peer", () => {
  test.each([
    ["nothing", ""],
    ["half a header", "GET / HTTP/1.1\r\nHost: a"],
  ])("that sends %s is answered 408 and goes", async (_what, message) => {
    const { dial } = await serve(echo);
    expect(await untilClosed(dial(message))).toMatch(/^HTTP\/1.1 408 /);
  });

  test("that sends half a body is closed, whether or not the handler reads it", async () => {
    const message = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf";
    for (const handler of [echo, () => undefined]) {
      const { dial } = await serve(handler);
      await untilClosed(dial(message));
    }
  });

  test("that does not read its answer is closed", async () => {
    const closed = Promise.withResolvers<void>();
    const { dial } = await serve((_request, response) => {
      response.on("close", closed.resolve);
      response.end(Buffer.alloc(64 << 20));
    });
    dial("GET / HTTP/1.1\r\nHost: a\r\n\r\n").pause();
    await closed.promise;
  });

  test("that keeps a connection without a request is closed", async () => {
    const { dial } = await serve((_request, response) => void response.end("here"));
    expect(await untilClosed(dial("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))).toMatch(/here$/);
  });

  test("that does not finish its TLS handshake is closed", async () => {
    const authority = await makeAuthority("test");
    const pair = await issueCertificate(authority, { commonName: "localhost", dnsNames: ["localhost"] });
    const { dial, port, server } = await serve((_request, response) => void response.end("here"), { tls: pair });
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    await untilClosed(dial("\u0016"));
    const half = connectTls({ port, host: "127.0.0.1", ca: authority.cert, servername: "localhost" });
    half.write("GET / HTTP/1.1\r\nHost: a");
    expect(await untilClosed(half)).toMatch(/^HTTP\/1.1 408 /);
  });
});

describe("pipelined requests", () => {
  const ahead = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  test("within the bound are all answered", async () => {
    const { dial } = await serve((_request, response) => void response.end("here"));
    const answers = await untilClosed(dial(ahead.repeat(maxPipelined - 1) + last));
    expect(answers.match(/here/g)).toHaveLength(maxPipelined);
  });

  test("beyond the bound close the connection, and start no more handlers", async () => {
    let started = 0;
    const { dial } = await serve(() => (started += 1), { limits: { ...limits, stallMs: 60_000, idleMs: 60_000 } });
    await untilClosed(dial(ahead.repeat(1000)));
    expect(started).toBe(maxPipelined);
  });

  test("answered in time have no bound in number", async () => {
    const { dial } = await serve((_request, response) => void response.end("here"));
    const socket = dial();
    const answers = untilClosed(socket);
    for (let sent = 0; sent < 3 * maxPipelined; sent++) {
      socket.write(ahead);
      await once(socket, "data");
    }
    socket.write(last);
    expect((await answers).match(/here/g)).toHaveLength(3 * maxPipelined + 1);
  });
});

describe("legitimately slow exchanges", () => {
  const wait = () => new Promise((resolve) => setTimeout(resolve, 3 * limits.stallMs));

  test("a late answer and a paused answer arrive whole", async () => {
    const { dial } = await serve((_request, response) => {
      void wait()
        .then(() => response.write("first "))
        .then(wait)
        .then(() => response.end("last"));
    });
    expect(await untilClosed(dial("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))).toMatch(/first [^]*last/);
  });

  test("a body sent in pieces and a body read late arrive whole", async () => {
    // A busy machine may pause this process between two pieces.
    const patient: ListenerLimits = { ...limits, stallMs: 1_000 };
    const late = () => new Promise((resolve) => setTimeout(resolve, 2 * patient.stallMs));
    const { port } = await serve(
      (request, response) => {
        if (request.url === "/late") void late().then(() => request.pipe(response));
        else request.pipe(response);
      },
      { limits: patient },
    );
    const send = async (path: string, body: Iterable<string> | AsyncIterable<string>): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        body: ReadableStream.from(body).pipeThrough(new TextEncoderStream()),
        duplex: "half",
      });
      return answer.text();
    };
    const pieces = Array.from({ length: 8 }, (_, index) => `piece ${index};`);
    expect(await send("/pieces", paced(pieces, patient.stallMs / 5))).toBe(pieces.join(""));
    const large = "x".repeat(8 << 20);
    expect(await send("/late", [large])).toBe(large);
  });

  test("a tunnel without traffic stays", async () => {
    const { dial, server } = await serve(echo, { acceptsWebSocket: () => true });
    server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
      socket.pipe(socket);
    });
    const client = dial("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await once(client, "data");
    await wait();
    client.write("still here");
    expect(String((await once(client, "data"))[0])).toBe("still here");
  });
});

describe("connections", () => {
  test("are bounded by a share of the descriptors, and by a number", async () => {
    const { server } = await serve(echo);
    expect(server.maxConnections).toBe(Math.floor(countDescriptors() * 0.1));
    const second = await serve(echo, { maxConnections: 3 });
    expect(second.server.maxConnections).toBe(3);
  });

  test("beyond the bound are closed at once, and idle ones make room", async () => {
    const { dial, port } = await serve((_request, response) => void response.end("here"), {
      maxConnections: 1,
      limits: { headersMs: 60_000, stallMs: 60_000, idleMs: 60_000, checkMs: 60_000 },
    });
    const first = dial("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(first, "data");
    await untilClosed(dial("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    await untilClosed(first);
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe("here");
  });
});

describe("a request's target", () => {
  const show: RequestListener = (request, response) =>
    void response.end(JSON.stringify([request.url, request.headers.host, request.rawHeaders.slice(0, 2)]));
  const ask = async (head: string): Promise<string> => {
    const { dial } = await serve(show);
    return untilClosed(dial(`${head}\r\nConnection: close\r\n\r\n`));
  };

  test.each([
    ["GET /a?b HTTP/1.1\r\nHost: x", ["/a?b", "x", ["Host", "x"]]],
    ["GET //a HTTP/1.1\r\nHost: x", ["//a", "x", ["Host", "x"]]],
    ["GET http://y:80/a?b HTTP/1.1\r\nHost: x", ["/a?b", "y:80", ["Host", "y:80"]]],
    ["GET HTTPS://y?b HTTP/1.1\r\nHost: x", ["/?b", "y", ["Host", "y"]]],
    ["GET http://y HTTP/1.1\r\nHost: x", ["/", "y", ["Host", "y"]]],
    ["OPTIONS * HTTP/1.1\r\nHost: x", ["*", "x", ["Host", "x"]]],
  ])("%s", async (head, seen) => {
    expect(await ask(head)).toContain(JSON.stringify(seen));
  });

  test.each([
    "GET / HTTP/1.1\r\nHost: x\r\nHost: y",
    "GET / HTTP/1.1\r\nHost: x\r\nhOST: x",
    "GET http://user@y/ HTTP/1.1\r\nHost: x",
    "GET ftp://y/ HTTP/1.1\r\nHost: x",
  ])("%s is 400", async (head) => {
    expect(await ask(head)).toMatch(/^HTTP\/1.1 400 /);
  });
});

test("an Upgrade that is not accepted is ignored, with its body intact", async () => {
  const { dial } = await serve(echo);
  const client = dial(
    "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\nContent-Length: 4\r\n\r\nbody",
  );
  expect(await untilClosed(client)).toMatch(/^HTTP\/1.1 200 [^]*body/);
});
