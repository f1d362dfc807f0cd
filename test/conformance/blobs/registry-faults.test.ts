// Client and store with a registry that fails: a real one, behind a proxy that breaks single requests.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BlobStoreUnavailable, type BlobStore } from "../../../blobs/blob-store.ts";
import { bytesSource } from "../../../blobs/registry/bytes-source.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { maxBytes, space } from "../../../blobs/testing/store-under-test.ts";
import { REGISTRY_USER, startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";
import { failing, startFaultProxy, type Fault, type FaultProxy } from "./fault-proxy.ts";

const reason = whyNoRegistry();
const MEBIBYTE = 1024 * 1024;

describe.skipIf(reason)("a registry that fails", () => {
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let elsewhere: FaultProxy;
  let client: RegistryClient;
  let store: BlobStore;
  let tests = 0;
  beforeAll(async () => {
    registry = await startRegistry();
    proxy = await startFaultProxy(registry.host);
    // The same registry by another name: credentials for the proxy are none for it.
    elsewhere = await startFaultProxy(registry.host);
    client = createRegistryClient({
      credentials: async (host) => (host === proxy.host ? REGISTRY_USER : undefined),
      deadlineMs: 5_000,
    });
  });
  beforeEach(() => {
    proxy.decide = elsewhere.decide = () => undefined;
    proxy.seen = [];
    elsewhere.seen = [];
    store = createRegistryStore({ client, prefix: { host: proxy.host, path: `test-${++tests}` } });
  });
  afterAll(async () => {
    await client?.close();
    await Promise.all([proxy?.stop(), elsewhere?.stop()]);
    await registry?.stop();
  });

  const put = (content: Buffer) => store.put(space, "package", Readable.from([content]), { maxBytes });
  const read = async (digest: string): Promise<Buffer> => buffer(await store.open(space, digest));

  const STEPS: [string, string, RegExp][] = [
    ["the look for a blob", "HEAD", /\/blobs\/sha256/],
    ["the start of an upload", "POST", /\/blobs\/uploads/],
    ["a piece of an upload", "PATCH", /\/package\/blobs\/uploads/],
    ["the end of an upload", "PUT", /\/package\/blobs\/uploads/],
    ["a manifest", "PUT", /\/manifests\/content-/],
    ["the look for a manifest", "GET", /\/manifests\/content-/],
    ["a list", "GET", /\/tags\/list/],
    ["a download", "GET", /\/blobs\/sha256/],
    ["a removal", "DELETE", /\/manifests\/sha256/],
  ];
  const FAULTS: [string, Fault][] = [
    ["429", { status: 429, headers: { "retry-after": "0" } }],
    ["500", { status: 500, body: "<html>oops" }],
    ["a cut before the answer", { cutRequestAfter: 0 }],
  ];
  for (const [step, method, path] of STEPS)
    test.each(FAULTS)(`${step} that fails once, with %s, is tried again`, async (_name, fault) => {
      const decide = failing(method, path, fault);
      proxy.decide = decide;
      const content = randomBytes(2 * MEBIBYTE);
      const { digest } = await put(content);
      await store.writeNote(space, digest, "note");
      expect((await read(digest)).equals(content)).toBe(true);
      expect(await store.findNote(space, digest)).toBe("note");
      expect(await store.list()).toHaveLength(1);
      await store.remove(space, digest);
      expect(await store.list()).toEqual([]);
      expect(decide.hits()).toBe(1);
    });

  test("a registry that keeps failing is given up after five tries, with its own words and no secret", async () => {
    const decide = failing(
      "POST",
      /\/package\/blobs\/uploads/,
      { status: 503, body: '{"errors":[{"code":"DOWN","message":"disk\\nfull"}]}' },
      99,
    );
    proxy.decide = decide;
    const fault = await put(Buffer.from("x")).catch((error: unknown) => error as Error);
    expect(fault).toBeInstanceOf(BlobStoreUnavailable);
    expect(fault).toMatchObject({ status: 503 });
    expect((fault as Error).message).toMatch(
      /^POST 127.0.0.1:\d+\/v2\/\S+\/blobs\/uploads\/ was answered with 503 \(DOWN: disk full\)/,
    );
    expect(JSON.stringify(fault) + String((fault as Error).stack)).not.toMatch(/registry-password|Basic|_state/);
    // The content and its configuration are sent at the same time.
    expect(decide.hits()).toBe(2 * 5);
  });

  test("Retry-After is waited for, but not for an hour", async () => {
    proxy.decide = failing("POST", /uploads/, { status: 429, headers: { "retry-after": "1" } });
    const started = Date.now();
    await put(Buffer.from("patient"));
    expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
    const decide = failing(
      "POST",
      /\/package\/blobs\/uploads/,
      { status: 429, headers: { "retry-after": "3600" } },
      99,
    );
    proxy.decide = decide;
    await expect(put(Buffer.from("impatient"))).rejects.toThrow("429");
    expect(decide.hits()).toBe(2);
  });

  test("an answer that never comes ends at the deadline", async () => {
    const impatient = createRegistryClient({ credentials: async () => REGISTRY_USER, deadlineMs: 200 });
    proxy.decide = () => ({ silent: true });
    try {
      await expect(impatient.ping(proxy.host)).rejects.toThrow("cannot be reached: no answer within 0.2 s");
    } finally {
      await impatient.close();
    }
  });

  test.each([0, 1, 700_000])("an upload that is cut after %i bytes arrives whole", async (bytes) => {
    const decide = failing("PATCH", /uploads/, { cutRequestAfter: bytes });
    proxy.decide = decide;
    const content = randomBytes(2 * MEBIBYTE);
    const { digest } = await put(content);
    expect((await read(digest)).equals(content)).toBe(true);
    expect(decide.hits()).toBe(1);
  });

  test("an upload of several pieces that is cut between them goes on where it was", async () => {
    const source = bytesSource(randomBytes(70 * MEBIBYTE));
    let pieces = 0;
    proxy.decide = ({ method }) => (method === "PATCH" && ++pieces === 2 ? { status: 502 } : undefined);
    await client.uploadBlob({ host: proxy.host, repository: "big" }, source);
    expect(proxy.seen.filter(({ method }) => method === "PATCH")).toHaveLength(4);
    expect(proxy.seen.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("an upload that the registry has forgotten begins again, three times at most", async () => {
    const forgotten = { status: 404, body: '{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}' };
    proxy.decide = failing("PATCH", /uploads/, forgotten, 2);
    const content = randomBytes(2 * MEBIBYTE);
    expect((await read((await put(content)).digest)).equals(content)).toBe(true);
    proxy.decide = failing("PATCH", /uploads/, forgotten, 99);
    await expect(put(randomBytes(2 * MEBIBYTE))).rejects.toThrow(/lost the upload of sha256:\w+ 3 times/);
  });

  test("a manifest that docker-registry refuses because another client pushes at the same moment is sent again", async () => {
    const decide = failing("PUT", /manifests/, { status: 400, body: '{"errors":[{"code":"DIGEST_INVALID"}]}' });
    proxy.decide = decide;
    await put(Buffer.from("raced"));
    expect(decide.hits()).toBe(1);
  });

  test("an end of an upload whose answer is lost counts", async () => {
    const decide = failing("PUT", /\/package\/blobs\/uploads/, { cutAnswerAfter: 0, change: (chunk) => chunk });
    proxy.decide = decide;
    const content = randomBytes(2 * MEBIBYTE);
    expect((await read((await put(content)).digest)).equals(content)).toBe(true);
  });

  test("a download that is cut goes on with the next byte, also where Range is ignored", async () => {
    const content = randomBytes(3 * MEBIBYTE);
    const { digest } = await put(content);
    proxy.decide = failing("GET", /\/blobs\/sha256/, { cutAnswerAfter: MEBIBYTE });
    proxy.seen = [];
    expect((await read(digest)).equals(content)).toBe(true);
    const resumed = proxy.seen.flatMap(({ range }) => (range === undefined ? [] : [range]));
    expect(resumed).toEqual([expect.stringMatching(/^bytes=[1-9]\d+-$/)]);
    let downloads = 0;
    proxy.decide = ({ method, path }) => {
      if (method !== "GET" || !/\/blobs\/sha256/.test(path)) return undefined;
      return ++downloads === 1 ? { cutAnswerAfter: MEBIBYTE } : { dropHeader: "range" };
    };
    expect((await read(digest)).equals(content)).toBe(true);
    expect(downloads).toBe(2);
  });

  test("a download that is cut at each try fails, and does not end as if it were whole", async () => {
    const { digest } = await put(randomBytes(MEBIBYTE));
    proxy.decide = failing("GET", /\/blobs\/sha256/, { cutAnswerAfter: 0 }, 99);
    await expect(read(digest)).rejects.toThrow(/broke off 5 times/);
  });

  test("wrong content fails the download", async () => {
    const { digest } = await put(randomBytes(MEBIBYTE));
    proxy.decide = failing("GET", /\/blobs\/sha256/, { change: (chunk) => Buffer.alloc(chunk.length) });
    await expect(read(digest)).rejects.toThrow(`sent other content than ${digest}`);
    const image = { host: proxy.host, repository: "x", digest: `sha256:${"0".repeat(64)}` };
    proxy.decide = failing("GET", /manifests/, { status: 200, body: "{}" });
    await expect(client.findManifest(image)).rejects.toThrow("sent other content than");
    proxy.decide = failing("GET", /manifests/, { status: 200, body: "<html>" });
    await expect(client.findManifest({ host: proxy.host, repository: "x", tag: "y" })).rejects.toThrow(
      "something else than JSON",
    );
  });

  test("a redirect to another host carries no credentials", async () => {
    const content = randomBytes(MEBIBYTE);
    const { digest } = await put(content);
    elsewhere.decide = () => ({ status: 200, body: content.toString("latin1") });
    proxy.decide = failing(
      "GET",
      /\/blobs\/sha256/,
      (): Fault => ({
        status: 307,
        headers: { location: `http://${elsewhere.host}/storage/blob?signature=abc` },
      }),
      99,
    );
    await expect(read(digest)).rejects.toThrow("sent other content"); // latin1 is no transport for bytes, but they came
    expect(elsewhere.seen).toMatchObject([{ path: "/storage/blob?signature=abc", authorization: undefined }]);
    expect(
      proxy.seen.every(({ authorization }) => authorization === undefined || authorization.startsWith("Basic")),
    ).toBe(true);
  });

  test("an upload address at another host gets the bytes and no credentials", async () => {
    const rewrite = { header: "location", to: (url: string) => url.replace(proxy.host, elsewhere.host) };
    proxy.decide = ({ method, path }) => (method === "POST" && path.includes("/package/") ? { rewrite } : undefined);
    await expect(put(randomBytes(2 * MEBIBYTE))).rejects.toThrow("401");
    expect(elsewhere.seen.length).toBeGreaterThan(0);
    expect(elsewhere.seen.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test.each([
    [
      "plain http elsewhere",
      "http://storage.example/blob",
      "redirects to http://storage.example, and only https is allowed",
    ],
    ["a circle", "", "redirects in a circle"],
  ])("a redirect is refused: %s", async (_name, location, words) => {
    const { digest } = await put(Buffer.from("content"));
    proxy.decide = failing("GET", /\/blobs\/sha256/, { status: 302, headers: { location } }, 99);
    await expect(store.open(space, digest)).rejects.toThrow(words);
  });

  test("a registry that is away and comes back", async () => {
    const { digest } = await put(Buffer.from("content"));
    await registry.kill();
    await expect(store.has(space, digest)).rejects.toBeInstanceOf(BlobStoreUnavailable);
    await registry.restart();
    expect((await read(digest)).toString()).toBe("content");
  });
});

if (reason) test.skip(`registry faults: skipped, ${reason}`, () => undefined);
