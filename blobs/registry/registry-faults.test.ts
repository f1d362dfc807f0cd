// A public registry that fails, by nock, at each step of a push and a pull: statuses, cut bodies, and other hosts, which must not see the credentials. On loopback all is plain http, so a real registry cannot show these.
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import nock from "nock";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { cutAfter, fakeNetwork, restoreNetwork } from "../../kube/testing/faked-network.ts";
import { bytesSource } from "./bytes-source.ts";
import { MEDIA_TYPES } from "./image-manifest.ts";
import { createRegistryClient, type RegistryClient } from "./registry-client.ts";

const REGISTRY = "https://registry.example";
const TOKENS = "https://tokens.example";
const STORAGE = "https://storage.example";
const PLACE = { host: "registry.example", repository: "team/app" };
const BASE = "/v2/team/app";
const PASSWORD = "hidden-word";
const BASIC = `Basic ${Buffer.from(`ann:${PASSWORD}`).toString("base64")}`;
const CONTENT = Buffer.from("some content of a layer");
const DIGEST = `sha256:${createHash("sha256").update(CONTENT).digest("hex")}`;
const MANIFEST = {
  mediaType: MEDIA_TYPES.manifest,
  bytes: Buffer.from(`{"layers":[],"config":{"digest":"${DIGEST}"}}`),
};
const UPLOAD = `${BASE}/blobs/uploads/1`;

let client: RegistryClient;
/** Requests of all hosts, in order. */
let seen: { to: string; authorization: string | null }[];

beforeAll(() => {
  fakeNetwork();
  // No jitter: the pauses between tries are none.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
beforeEach(() => {
  seen = [];
  client = createRegistryClient({
    credentials: async (host) => (host === PLACE.host ? { username: "ann", password: PASSWORD } : undefined),
    deadlineMs: 5_000,
  });
});
afterEach(async () => {
  await client.close();
  nock.cleanAll();
});
afterAll(() => {
  vi.restoreAllMocks();
  restoreNetwork();
});

type Reply = [status: number, body?: string | (() => Readable), headers?: Record<string, string>];

function note(request: Request): void {
  seen.push({
    to: `${request.method} ${new URL(request.url).host}`,
    authorization: request.headers.get("authorization"),
  });
}

/** Answers the first requests with the replies, one each. */
function serve(origin: string, method: string, path: string | RegExp, ...replies: Reply[]): nock.Scope {
  const scope = nock(origin);
  for (const [status, body = "", headers = {}] of replies)
    scope
      .intercept(path, method)
      .query(true)
      .reply((request: Request) => {
        note(request);
        return [status, typeof body === "function" ? body() : body, headers];
      });
  return scope;
}

/** A registry and a token service that work. An earlier `serve` counts first. */
function serveAll(): void {
  for (const method of ["HEAD", "GET", "POST", "PUT"]) nock(REGISTRY).persist().intercept(/.*/, method).reply(answer);
  nock(TOKENS)
    .persist()
    .get("/token")
    .query(true)
    .reply((request: Request) => {
      note(request);
      return [200, { token: "good" }];
    });
}

const CHALLENGE = { "www-authenticate": `Bearer realm="${TOKENS}/token",service="registry.example"` };

function answer(request: Request): nock.ReplyFnResult {
  note(request);
  if (request.headers.get("authorization") !== "Bearer good") return [401, "", CHALLENGE];
  const { pathname } = new URL(request.url);
  if (request.method === "POST") return [202, "", { location: UPLOAD }];
  if (request.method === "PUT") return [201, ""];
  if (request.method === "HEAD") return [404, ""];
  if (pathname.startsWith(`${BASE}/manifests/`)) return [200, MANIFEST.bytes];
  return pathname.endsWith("/tags/list") ? [200, { tags: ["one"] }] : [200, CONTENT];
}

async function pushAndPull(): Promise<void> {
  await client.uploadBlob(PLACE, bytesSource(CONTENT));
  await client.pushManifest({ ...PLACE, tag: "one" }, MANIFEST);
  expect((await client.findManifest({ ...PLACE, tag: "one" }))?.bytes).toEqual(MANIFEST.bytes);
  expect(await text(await client.openBlob(PLACE, { digest: DIGEST, size: CONTENT.length }))).toBe(String(CONTENT));
  expect(await client.listTags(PLACE)).toEqual(["one"]);
}

/** Where a fault is met: origin, method and path of a request of `pushAndPull`. */
const STEPS: [string, string, string, RegExp][] = [
  ["the token service", TOKENS, "GET", /^\/token/],
  ["the look for a blob", REGISTRY, "HEAD", /\/blobs\/sha256/],
  ["the start of an upload", REGISTRY, "POST", /\/blobs\/uploads/],
  ["the end of an upload", REGISTRY, "PUT", /\/blobs\/uploads/],
  ["a manifest that is pushed", REGISTRY, "PUT", /\/manifests\//],
  ["a manifest that is read", REGISTRY, "GET", /\/manifests\//],
  ["a blob", REGISTRY, "GET", /\/blobs\/sha256/],
  ["a list of tags", REGISTRY, "GET", /\/tags\/list/],
];
const BUSY: Record<string, string> = { "retry-after": "0" };

describe.each(STEPS)("%s", (_step, origin, method, path) => {
  test.each([429, 503])("that answers %i once is asked again", async (status) => {
    const fault = serve(origin, method, path, [status, "<html>busy</html>", BUSY]);
    serveAll();
    await pushAndPull();
    expect(fault.isDone()).toBe(true);
  });

  test("whose connection breaks once is asked again", async () => {
    const broken = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    const fault = nock(origin).intercept(path, method).query(true).replyWithError(broken);
    serveAll();
    await pushAndPull();
    expect(fault.isDone()).toBe(true);
  });

  test("that refuses is not asked again, and the error has no secret", async () => {
    serve(origin, method, path, [403, '{"errors":[{"code":"DENIED","message":"no"}]}']);
    serveAll();
    const fault = await pushAndPull().then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(fault?.message).toMatch(/403 \(DENIED: no\)|refuses the credentials|answered with 403/);
    expect(`${JSON.stringify(fault)} ${fault?.stack}`).not.toMatch(/hidden-word|Basic|Bearer good/);
  });

  test("that redirects to another host: no credentials go there", async () => {
    const elsewhere = nock(STORAGE)
      .persist()
      .intercept(/.*/, method)
      .query(true)
      .reply((request: Request) => {
        note(request);
        return [401, "", { "www-authenticate": `Bearer realm="${STORAGE}/token"` }];
      });
    const asked = nock(STORAGE).get("/token").query(true).reply(200, { token: "stolen" });
    serve(origin, method, path, [307, "", { location: `${STORAGE}/moved?signature=abc` }]);
    serveAll();
    const fault = await pushAndPull().then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    expect(fault?.message).not.toMatch(/signature|hidden-word/);
    const there = seen.filter(({ to }) => to.endsWith("storage.example"));
    expect(there).toEqual(origin === TOKENS ? [] : there.map(({ to }) => ({ to, authorization: null })));
    expect(elsewhere.isDone()).toBe(origin !== TOKENS);
    // A challenge of a host that is not the registry asks for nothing of ours.
    expect(asked.isDone()).toBe(false);
  });
});

test("the password goes to the token service alone", async () => {
  serveAll();
  await pushAndPull();
  expect(new Set(seen.map(({ to, authorization }) => `${to}: ${authorization}`))).toEqual(
    new Set([
      ...["HEAD", "GET"].map((method) => `${method} registry.example: null`),
      ...["HEAD", "GET", "POST", "PUT"].map((method) => `${method} registry.example: Bearer good`),
      `GET tokens.example: ${BASIC}`,
    ]),
  );
});

test("a blob that is cut goes on at another host, without credentials there", async () => {
  const at = `${STORAGE}/blob?signature=abc`;
  serve(REGISTRY, "GET", `${BASE}/blobs/${DIGEST}`, [307, "", { location: at }], [307, "", { location: at }]);
  serve(STORAGE, "GET", "/blob", [200, () => cutAfter(CONTENT.subarray(0, 9))], [200, CONTENT.toString()]);
  const content = await client.openBlob(PLACE, { digest: DIGEST, size: CONTENT.length });
  expect(await text(content)).toBe(CONTENT.toString());
  expect(seen.map(({ to }) => to)).toEqual(
    ["registry", "storage", "registry", "storage"].map((h) => `GET ${h}.example`),
  );
  expect(seen.every(({ authorization }) => authorization === null)).toBe(true);
});

test.each([
  ["a manifest", /\/manifests\//, () => client.findManifest({ ...PLACE, tag: "one" })],
  ["a list of tags", /\/tags\/list/, () => client.listTags(PLACE)],
])("%s whose body is cut is asked again, and given up after five tries", async (_name, path, ask) => {
  const cut: Reply = [200, () => cutAfter('{"tags":["o'), { "content-length": "400" }];
  serve(REGISTRY, "GET", path, cut);
  serveAll();
  await ask();
  nock.cleanAll();
  seen = [];
  serve(REGISTRY, "GET", path, ...Array.from({ length: 6 }, () => cut));
  await expect(ask()).rejects.toThrow(/broke off/);
  expect(seen).toHaveLength(5);
});

test.each([
  ["another host", STORAGE, "GET storage.example"],
  ["another port", `${REGISTRY}:8443`, "GET registry.example:8443"],
])("the next page of a list at %s is read without credentials", async (_name, origin, to) => {
  serve(origin, "GET", "/next", [200, '{"tags":["two"]}']);
  const link = { link: `<${origin}/next>; rel="next"` };
  serve(REGISTRY, "GET", /\/tags\/list/, [401, "", { "www-authenticate": "Basic" }], [200, '{"tags":["one"]}', link]);
  expect(await client.listTags(PLACE)).toEqual(["one", "two"]);
  expect(seen.slice(1)).toEqual([
    { to: "GET registry.example", authorization: BASIC },
    { to, authorization: null },
  ]);
});

test("an upload that goes to another host takes the content there and no credentials", async () => {
  serve(REGISTRY, "HEAD", /\/blobs\//, [404]);
  serve(
    REGISTRY,
    "POST",
    /\/uploads/,
    [401, "", { "www-authenticate": "Basic" }],
    [202, "", { location: `${STORAGE}/u` }],
  );
  serve(STORAGE, "PUT", "/u", [201]);
  await client.uploadBlob(PLACE, bytesSource(CONTENT));
  expect(seen.slice(-2)).toEqual([
    { to: "POST registry.example", authorization: BASIC },
    { to: "PUT storage.example", authorization: null },
  ]);
});

test.each([
  ["a redirect", [307, "", { location: "http://registry.example/v2/" }]],
  ["a token service", [401, "", { "www-authenticate": 'Bearer realm="http://tokens.example/token"' }]],
] satisfies [string, Reply][])("%s by plain http is refused, and nothing is sent there", async (_name, reply) => {
  const plain = ["http://registry.example", "http://tokens.example"].map((origin) => nock(origin).get(/.*/).reply(200));
  serve(REGISTRY, "GET", "/v2/", reply);
  await expect(client.ping(PLACE.host)).rejects.toThrow(/https/);
  expect(plain.map((scope) => scope.isDone())).toEqual([false, false]);
});
