// Bearer tokens: a real registry that trusts a token service, and a service that fails.
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BlobStoreUnavailable, type BlobStore } from "../../../blobs/blob-store.ts";
import type { RegistryCredentials } from "../../../blobs/registry/docker-config.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { maxBytes, otherSpace, space } from "../../../blobs/testing/store-under-test.ts";
import { REGISTRY_USER, startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { startTokenService, type TokenService } from "./token-service.ts";

const reason = whyNoRegistry();

describe.skipIf(reason)("a registry with a token service", () => {
  let tokens: TokenService;
  let registry: TestRegistry;
  let proxy: FaultProxy;
  let client: RegistryClient;
  let credentials: RegistryCredentials | undefined;
  let store: BlobStore;
  beforeAll(async () => {
    tokens = await startTokenService();
    registry = await startRegistry(tokens.registryOptions);
    proxy = await startFaultProxy(registry.host);
  });
  beforeEach(() => {
    Object.assign(tokens, { fault: undefined, asked: [], life: { stated: 300, real: 300 } });
    proxy.seen = [];
    credentials = REGISTRY_USER;
    client = createRegistryClient({ credentials: async () => credentials });
    store = createRegistryStore({ client, prefix: { host: proxy.host, path: "cupola" } });
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await proxy?.stop();
    await registry?.stop();
    await tokens?.stop();
  });

  const put = (content: string) => store.put(space, "package", Readable.from([Buffer.from(content)]), { maxBytes });

  test.each<[string, RegistryCredentials]>([
    ["a password", REGISTRY_USER],
    ["an identity token", { identityToken: "refresh" }],
  ])("the whole store works with %s; the registry itself never sees it", async (_name, given) => {
    credentials = given;
    const { digest } = await put("content");
    await store.writeNote(space, digest, "note");
    await store.touch(space, digest);
    await store.copy({ space, digest }, otherSpace, "package");
    expect(await text(await store.open(otherSpace, digest))).toBe("content");
    expect(await store.list({ space })).toHaveLength(1);
    await store.remove(space, digest);
    await store.remove(otherSpace, digest);
    expect(await store.list()).toEqual([]);
    const schemes = new Set(proxy.seen.map(({ authorization }) => authorization?.split(" ")[0]));
    expect([...schemes].sort()).toEqual(["Bearer", undefined]);
    // A token for each set of scopes, not one for each request.
    expect(tokens.asked.length).toBe(new Set(tokens.asked.map((scopes) => scopes.join(" "))).size);
  });

  test("a token that the registry refuses is replaced", async () => {
    tokens.life = { stated: 300, real: -3600 };
    await expect(client.ping(proxy.host)).rejects.toThrow("refuses the credentials given for it");
    tokens.life = { stated: 300, real: 300 };
    await client.ping(proxy.host);
  });

  test.each<[string, Partial<TokenService>, string]>([
    ["refuses", { fault: { status: 401 } }, "refuses the credentials"],
    ["keeps failing", { fault: { status: 503 } }, "answers 503"],
    ["answers nonsense", { fault: { status: 200, body: "<html>" } }, "answers without a token"],
    [
      "answers a token that is no header",
      { fault: { status: 200, body: '{"token":"a\\nb"}' } },
      "answers without a token",
    ],
  ])("a service that %s is named, and fails the request", async (_name, fault, words) => {
    Object.assign(tokens, fault);
    const thrown = await put("x").catch((error: unknown) => error as Error);
    expect(thrown).toBeInstanceOf(BlobStoreUnavailable);
    expect((thrown as Error).message).toMatch(/^the token service 127\.0\.0\.1:\d+ of the registry 127\.0\.0\.1:\d+ /);
    expect((thrown as Error).message).toContain(words);
    expect(JSON.stringify(thrown) + String((thrown as Error).stack)).not.toContain(REGISTRY_USER.password);
  });

  test("a service that fails once is asked again", async () => {
    tokens.fault = { status: 500 };
    const pinged = client.ping(proxy.host);
    await expect.poll(() => proxy.seen.length).toBeGreaterThan(0);
    tokens.fault = undefined;
    await pinged;
  });

  test("credentials are not sent to a service by plain http off loopback", async () => {
    const realm = 'Bearer realm="http://tokens.example/token",service="registry"';
    proxy.decide = () => ({ status: 401, headers: { "www-authenticate": realm } });
    await expect(client.ping(proxy.host)).rejects.toThrow("names no https address as its token service");
    proxy.decide = () => undefined;
  });
});

if (reason) test.skip(`registry tokens: skipped, ${reason}`, () => undefined);
