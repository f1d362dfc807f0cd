// Requests to a broker on real sockets: headers, bounds, redirects, and that no error has a secret.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTLSServer } from "node:https";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { callBroker, type BrokerRequest } from "./call-broker.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function ask(listener: RequestListener, request: Partial<BrokerRequest> = {}) {
  server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return callBroker(
    { url, username: "ann", password: "hidden-word" },
    { method: "GET", path: "/v2/catalog", ...request },
    AbortSignal.timeout(10_000),
  );
}

describe("a request", () => {
  test("has version, credentials and the person on whose behalf it is", async () => {
    const answer = await ask(
      ({ headers, url, method }, response) => response.end(JSON.stringify({ headers, url, method })),
      {
        method: "PUT",
        path: "/v2/service_instances/x?accepts_incomplete=true",
        body: { plan_id: "p" },
        user: "user-guid",
        apiInfo: "https://api.example/v2/info",
      },
    );
    expect(answer).toMatchObject({
      kind: "answer",
      status: 200,
      body: {
        method: "PUT",
        url: "/v2/service_instances/x?accepts_incomplete=true",
        headers: {
          authorization: `Basic ${Buffer.from("ann:hidden-word").toString("base64")}`,
          "x-broker-api-version": "2.17",
          "x-broker-api-request-identity": expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          "x-api-info-location": "https://api.example/v2/info",
          "x-broker-api-originating-identity": `cloudfoundry ${Buffer.from('{"user_id":"user-guid"}').toString("base64")}`,
          "content-type": "application/json",
        },
      },
    });
  });

  test("follows no redirect, so that nobody else gets the credentials", async () => {
    let requests = 0;
    const answer = await ask((_, response) => {
      requests += 1;
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect([answer, requests]).toEqual([{ kind: "answer", status: 307, body: undefined, text: "" }, 1]);
  });
});

describe("an answer", () => {
  test.each<[string, RequestListener, Partial<BrokerRequest>, object]>([
    ["garbage", (_, response) => response.end("<html>"), {}, { kind: "answer", status: 200, body: undefined }],
    ["a list", (_, response) => response.end("[1]"), {}, { kind: "answer", status: 200, body: undefined }],
    [
      "a wish to be asked later",
      (_, response) => response.writeHead(200, { "retry-after": "7" }).end("{}"),
      {},
      { kind: "answer", retryAfterSeconds: 7 },
    ],
    [
      "more than its bound",
      (_, response) => response.end(JSON.stringify({ a: "x".repeat(2000) })),
      { maxBytes: 1000 },
      { kind: "lost", why: "its answer has more than 1000 bytes" },
    ],
    [
      "as large as a keystore",
      (_, response) => response.end(JSON.stringify({ credentials: { keystore: "x".repeat(200_000) } })),
      {},
      { kind: "answer", status: 200, body: { credentials: { keystore: "x".repeat(200_000) } } },
    ],
    [
      "a wish to be asked in a thousand years",
      (_, response) => response.writeHead(503, { "retry-after": "31536000000" }).end("{}"),
      {},
      { kind: "answer", retryAfterSeconds: 86_400 },
    ],
    [
      "a small one that unpacks to gigabytes",
      (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50_000_000))),
      {},
      { kind: "lost", why: "its answer has more than 262144 bytes" },
    ],
    [
      "deeper than parsers like",
      (_, response) => response.end(`{"a":${"[".repeat(10_000)}`),
      {},
      { kind: "lost", why: "its answer has more than 100 levels" },
    ],
    [
      "a million values",
      (_, response) => response.end(`[${"0,".repeat(1_000_000)}0]`),
      { maxBytes: 4_000_000 },
      { kind: "lost", why: "its answer has more than 50000 values" },
    ],
    [
      "a refusal in words that a terminal would obey",
      (_, response) => response.writeHead(500).end(JSON.stringify({ description: "no\u001b[2J", other: 1 })),
      {},
      { kind: "answer", status: 500, body: { description: "no [2J", other: 1 } },
    ],
    [
      "a refusal in no words",
      (_, response) => response.writeHead(502).end("<b>gone\u009b</b>"),
      {},
      { kind: "answer", status: 502, body: undefined, text: "<b>gone </b>" },
    ],
    ["a cut connection", ({ socket }) => void socket.destroy(), {}, { kind: "lost" }],
  ])("that is %s", async (_, listener, request, expected) => {
    const answer = await ask(listener, request);
    expect(answer).toMatchObject(expected);
    expect(JSON.stringify(answer)).not.toContain("hidden-word");
  });

  test("of an address that is not open is none: no connection was made", async () => {
    let connections = 0;
    server = createServer().listen(0, "127.0.0.1");
    server.on("connection", () => (connections += 1));
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const access = { username: "ann", password: "hidden-word", mayConnect: () => false };
    for (const host of ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]"]) {
      const url = `http://${host}:${port}`;
      const answer = await callBroker({ ...access, url }, { method: "GET", path: "/" }, AbortSignal.timeout(10_000));
      expect(answer).toMatchObject({ kind: "unreachable", why: expect.stringContaining("broker-egress-cidrs") });
    }
    expect(connections).toBe(0);
  });

  test("of nobody says that no connection was made", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const access = { url: `http://127.0.0.1:${port}`, username: "ann", password: "hidden-word" };
    expect(await callBroker(access, { method: "GET", path: "/" }, AbortSignal.timeout(10_000))).toEqual({
      kind: "unreachable",
      why: "ECONNREFUSED",
    });
  });

  test("of a broker whose certificate comes from an authority of its own is read with that authority only", async () => {
    const [own, other] = await Promise.all([makeAuthority("its own"), makeAuthority("another")]);
    const pair = await issueCertificate(own, { commonName: "127.0.0.1", ipAddresses: ["127.0.0.1"] });
    server = createTLSServer(pair, (_, response) => response.end("{}")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const askWith = (ca: string | undefined) =>
      callBroker(
        { url, username: "ann", password: "hidden-word", ca },
        { method: "GET", path: "/" },
        AbortSignal.timeout(10_000),
      );
    expect(await askWith(`${other.cert}\n${own.cert}`)).toMatchObject({ kind: "answer", status: 200 });
    for (const ca of [undefined, other.cert])
      expect(await askWith(ca)).toMatchObject({
        kind: "unreachable",
        why: expect.stringContaining("put the certificate of its authority into spec.caBundle") as string,
      });
  });

  test("that TLS refuses before anything is sent was no connection", async () => {
    const pair = await issueCertificate(await makeAuthority("nobody knows it"), {
      commonName: "127.0.0.1",
      ipAddresses: ["127.0.0.1"],
    });
    let requests = 0;
    const count: RequestListener = (_, response) => response.end(String(requests++));
    for (const each of [createTLSServer(pair, count), createServer(count)]) {
      server = each.listen(0, "127.0.0.1");
      await once(each, "listening");
      const url = `https://127.0.0.1:${(each.address() as AddressInfo).port}`;
      const answer = await callBroker(
        { url, username: "ann", password: "hidden-word" },
        { method: "PUT", path: "/", body: {} },
        AbortSignal.timeout(10_000),
      );
      expect([answer.kind, requests]).toEqual(["unreachable", 0]);
      each.closeAllConnections();
      each.close();
    }
  });
});
