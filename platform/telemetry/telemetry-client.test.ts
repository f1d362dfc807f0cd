// A published endpoint receives a token that is valid only at its own address.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { afterEach, expect, test } from "vitest";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { deriveAddressToken } from "../peers/address-token.ts";
import { startPeerListener } from "../peers/peer-server.ts";
import { createTelemetryClient } from "./telemetry-client.ts";
import { TELEMETRY_SECRET } from "./telemetry-secret.ts";
import { startTelemetry } from "./telemetry-server.ts";

const log = pino({ level: "silent" });
const secret = "the-secret-of-the-platform";
const secretRef = { name: TELEMETRY_SECRET };
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => void (await Promise.all(ends.splice(0).map((end) => end()))));

async function startOwn(): Promise<{ url: string }> {
  const { server, telemetry } = await startTelemetry({ secret: () => secret, secretRef, address: "127.0.0.1", log });
  if (!server || !telemetry) throw new Error("it has no server");
  ends.push(() => server.close());
  telemetry.log({ source: "app", sourceType: "STG", message: "line" });
  return server;
}

/** Records Authorization headers, and answers or redirects to `to`. */
async function startForeign(to?: string): Promise<{ url: string; got: string[] }> {
  const got: string[] = [];
  const server = createServer((request, response) => {
    got.push(request.headers.authorization ?? "");
    response
      .writeHead(to ? 307 : 200, { "content-type": "application/json", ...(to && { location: `${to}${request.url}` }) })
      .end(JSON.stringify({ envelopes: { batch: [] }, instances: [], meta: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

function clientOver(urls: string[]) {
  const classes = urls.map((url, index) => ({
    metadata: { name: `class-${index}` },
    status: { endpoint: { url, secretRef } },
  }));
  const kept = { data: { token: Buffer.from(secret).toString("base64") } };
  const stores: Record<string, object> = {
    BackendClass: { synced: true, list: () => classes },
    Secret: { synced: true, find: () => kept },
  };
  const ensure = ({ kind }: ResourceRef): object => {
    const store = stores[kind];
    if (!store) throw new NotSynced(`no ${kind} here`);
    return { store };
  };
  return createTelemetryClient({
    informers: { ensure } as unknown as Informers,
    log,
    addresses: () => [],
    members: () => [],
  });
}

const status = async (url: string, authorization: string): Promise<number> =>
  (await fetch(url, { method: "GET", headers: { authorization } })).status;

test("an endpoint of the platform's own answers", async () => {
  const own = await startOwn();
  expect(await clientOver([own.url]).readLogs("app")).toHaveLength(1);
});

test("the token for a foreign endpoint opens nothing else and does not reveal the secret", async () => {
  const [own, other, foreign] = [await startOwn(), await startOwn(), await startForeign()];
  const peers = await startPeerListener(
    "127.0.0.1",
    (url) => deriveAddressToken(secret, "replicas", url),
    (error) => expect.unreachable(String(error)),
  );
  ends.push(() => peers.close());
  await clientOver([foreign.url, own.url]).readLogs("app");
  const [stolen = ""] = foreign.got;
  expect(stolen).toMatch(/^Bearer [\w-]{43}$/);
  expect(stolen).not.toContain(secret);
  for (const { url } of [own, other]) expect(await status(`${url}/meta`, stolen)).toBe(401);
  expect(await status(`${peers.url}/replicas/hello`, stolen)).toBe(401);
  expect(await status(`${own.url}/meta`, `Bearer ${secret}`)).toBe(401);
});

test("a foreign endpoint cannot send the reader on to another", async () => {
  const inside = await startForeign();
  const foreign = await startForeign(inside.url);
  await expect(clientOver([foreign.url]).readLogs("app")).rejects.toThrow();
  expect(inside.got).toEqual([]);
});

test.each(["", "not a url", "file:///etc/passwd", "ftp://127.0.0.1/"])(
  "an address that is none (%s) is passed over",
  async (url) => {
    const own = await startOwn();
    expect(await clientOver([url, own.url]).readLogs("app")).toHaveLength(1);
  },
);

test.each([
  ["another host", "http://b:1"],
  ["another port", "http://a:2"],
  ["no TLS", "http://a:1"],
  ["a user that looks like the host", "https://a:1@b"],
])("a token is another with %s", (_what, url) => {
  expect(deriveAddressToken(secret, "telemetry", url)).not.toBe(deriveAddressToken(secret, "telemetry", "https://a:1"));
  expect(deriveAddressToken(secret, "telemetry", url)).not.toBe(deriveAddressToken(secret, "replicas", url));
});
