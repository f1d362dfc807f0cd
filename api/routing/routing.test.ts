// Routing over real HTTP: requests that reach handlers, and CF's errors for all others.
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { endpoint, noContent, ok } from "./endpoint.ts";
import { CFError, notAuthorized, notFound, unprocessable } from "../http/errors.ts";
import { listQuery } from "../http/query.ts";
import { createRouting, normalisedUrl } from "./routing.ts";
import type { Session } from "../access/session.ts";

const rows = [
  endpoint({
    method: "GET",
    path: "/v3/things/:guid",
    permission: "authenticated",
    handler: ({ params, base, url }) => ok({ ...params, base, url }),
  }),
  endpoint({
    method: "GET",
    path: "/v3/things",
    permission: "authenticated",
    query: listQuery({}),
    handler: ({ query }) => ok({ page: query.page }),
  }),
  endpoint({
    method: "POST",
    path: "/v3/things",
    permission: "authenticated",
    body: z.strictObject({ name: z.string().min(1).max(20) }),
    handler: ({ body, warn }) => {
      warn("careful, 100% new");
      if (body.name === "refused") throw unprocessable("no");
      if (body.name === "forbidden") throw notAuthorized();
      return { status: 201, body, job: "thing.create~1" };
    },
  }),
  endpoint({
    method: "POST",
    path: "/v3/things/:guid/actions/start",
    permission: "authenticated",
    handler: () => noContent(),
  }),
  endpoint({
    method: "POST",
    path: "/v3/manifests",
    permission: "authenticated",
    body: z.object({ applications: z.array(z.unknown()) }),
    bodyFormat: "yaml",
    handler: ({ body }) => ok(body),
  }),
  endpoint({
    method: "POST",
    path: "/v3/guarded",
    permission: "authenticated",
    bodyFormat: "yaml",
    guard: () => {
      throw notFound("Space");
    },
    handler: () => noContent(),
  }),
  endpoint({
    method: "GET",
    path: "/v3/context",
    permission: "anonymous",
    handler: (context) => {
      const accessors = Object.entries(Object.getOwnPropertyDescriptors(context)).filter(([, { get }]) => get);
      return ok({ accessors: accessors.map(([name]) => name) });
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/faults/session",
    permission: "anonymous",
    handler: ({ session }) => ok(session.caller),
  }),
  endpoint({
    method: "GET",
    path: "/v3/faults/unknown",
    permission: "anonymous",
    handler: () => {
      throw new Error("the password is hunter2");
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/faults/slow",
    permission: "anonymous",
    timeoutMs: 30,
    handler: () => new Promise(() => {}),
  }),
  endpoint({
    method: "GET",
    path: "/v3/faults/missing",
    permission: "anonymous",
    handler: () => Promise.reject(notFound("App")),
  }),
];

const server = createServer(
  createRouting({
    waitUntilCurrent: () => undefined,
    endpoints: rows,
    log: pino({ level: "silent" }),
    authenticate: async ({ authorization }) => {
      if (!authorization) throw new CFError("NotAuthenticated");
      return { name: "ann", kind: "User", groups: [], connect: (client) => client };
    },
    createSession: () => ({ judge: () => undefined }) as unknown as Session,
  }),
);
let base = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

async function call(
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<{
  status: number;
  headers: Headers;
  json: Record<string, unknown> & { errors?: { detail: string; code: number }[] };
}> {
  const response = await fetch(base + path, {
    method,
    ...init,
    headers: { authorization: "bearer x", ...init.headers },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text ? JSON.parse(text) : {} };
}

test.each([
  ["//v3//apps/", "/v3/apps"],
  ["/", "/"],
  ["//", "/"],
  ["/v3/apps/?names=a//b/", "/v3/apps?names=a//b/"],
])("%s is served as %s", (given, served) => {
  expect(normalisedUrl(given)).toBe(served);
});

test("a handler's context has no accessor, which would keep it from being freed young", async () => {
  expect((await call("GET", "/v3/context")).json).toEqual({ accessors: [] });
});

test("a handler for everybody has no session to use", async () => {
  const { status, json } = await call("GET", "/v3/faults/session");
  expect([status, json.errors?.[0]?.detail]).toEqual([401, "Authentication error"]);
});

test("parameters, base and cleaned URL reach the handler", async () => {
  const { json } = await call("GET", "//v3/things/a%2Fb/");
  expect(json).toEqual({ guid: "a/b", base, url: "/v3/things/a%2Fb" });
});

test("a body that holds: 201 with Location and one warning that survives CGI unescaping", async () => {
  const { status, headers, json } = await call("POST", "/v3/things/", { body: '{"name":"x"}' });
  expect([status, json]).toEqual([201, { name: "x" }]);
  expect(headers.get("location")).toBe(`${base}/v3/jobs/thing.create~1`);
  expect(decodeURIComponent(headers.get("x-cf-warnings") ?? "")).toBe("careful, 100% new");
  expect(headers.get("x-vcap-request-id")).toMatch(/^[\w-]{36}$/);
});

test.each([
  ["refused", 422, "careful, 100% new"],
  ["forbidden", 403, ""],
])("a warning goes with a refusal, and not to a caller who may not: %s", async (name, expected, warning) => {
  const { status, headers } = await call("POST", "/v3/things", { body: JSON.stringify({ name }) });
  expect([status, decodeURIComponent(headers.get("x-cf-warnings") ?? "")]).toEqual([expected, warning]);
});

test.each<[Record<string, string>, RegExp]>([
  [{ "x-vcap-request-id": "mine", "x-request-id": "other" }, /^mine::[\w-]{36}$/],
  [{ "x-request-id": "a b<c>-1" }, /^abc-1::[\w-]{36}$/],
  [{ "x-vcap-request-id": "!!" }, /^[\w-]{36}$/],
  [{ "x-vcap-request-id": "x".repeat(300) }, /^x{255}::[\w-]{36}$/],
])("the id of a request with %j", async (headers, expected) => {
  expect((await call("GET", "/v3/things/1", { headers })).headers.get("x-vcap-request-id")).toMatch(expected);
});

test("a bodyless POST may say it is JSON", async () => {
  const { status } = await call("POST", "/v3/things/1/actions/start", {
    headers: { "content-type": "application/json" },
  });
  expect(status).toBe(204);
});

test.each([
  ["nothing there", "GET", "/v3/nothing", undefined, 404, 10000, "Unknown request"],
  ["broken JSON", "POST", "/v3/things", "{", 400, 1001, "Request invalid due to parse error: invalid request body"],
  ["not an object", "POST", "/v3/things", "[1]", 400, 1001, "Request invalid due to parse error: invalid request body"],
  [
    "not UTF-8",
    "POST",
    "/v3/things",
    Buffer.from([0x7b, 0xff, 0x7d]),
    400,
    1001,
    "Request invalid due to parse error: invalid request body",
  ],
  [
    "nested too deeply",
    "POST",
    "/v3/things",
    `{"name":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    400,
    1001,
    "Request invalid due to parse error: the body has more than 64 levels",
  ],
  ["unknown fields", "POST", "/v3/things", '{"a":1,"b":2,"name":"x"}', 422, 10008, "Unknown field(s): 'a', 'b'"],
  [
    "two mistakes, one detail",
    "POST",
    "/v3/things",
    '{"a":1,"name":3}',
    422,
    10008,
    "Name must be a string, Unknown field(s): 'a'",
  ],
  ["no body", "POST", "/v3/things", undefined, 422, 10008, "Name can't be blank"],
  [
    "unknown query",
    "GET",
    "/v3/things?zip=1",
    undefined,
    400,
    10005,
    "The query parameter is invalid: Unknown query parameter(s): 'zip'. Valid parameters are: 'page', 'per_page', 'order_by', 'guids', 'label_selector', 'created_ats', 'updated_ats'",
  ],
  [
    "page 0",
    "GET",
    "/v3/things?page=0",
    undefined,
    400,
    10005,
    "The query parameter is invalid: Page must be a positive integer",
  ],
  ["a bad escape", "GET", "/v3/things/%E0%A4%A", undefined, 400, 1004, "Bad request: the path has an invalid % escape"],
  ["not found", "GET", "/v3/faults/missing", undefined, 404, 10010, "App not found"],
  [
    "an internal error, without its details",
    "GET",
    "/v3/faults/unknown",
    undefined,
    500,
    10001,
    "An unknown error occurred.",
  ],
  ["too slow", "GET", "/v3/faults/slow", undefined, 503, 10015, "The request took too long."],
] as const)("%s", async (...[, method, path, body, status, code, detail]) => {
  const answer = await call(method, path, body === undefined ? {} : { body });
  expect([answer.status, answer.json.errors]).toEqual([
    status,
    [{ code, title: expect.stringMatching(/^CF-|^UnknownError$/) as string, detail }],
  ]);
});

test("no credential is 401", async () => {
  const response = await fetch(`${base}/v3/things`);
  expect(response.status).toBe(401);
});

const yaml = { "content-type": "application/x-yaml" };

test.each([
  ["a manifest", "applications: [{name: a}]", yaml, 200],
  ["JSON type", "applications: []", { "content-type": "application/json" }, 400],
  ["aliases", "applications: [&a {name: x}, *a]", yaml, 400],
  [
    "a bomb",
    `a: &a [x,x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*a, *a]`).join("\n")}\napplications: []`,
    yaml,
    400,
  ],
  ["a custom tag", "applications: [!ruby/object x]", yaml, 400],
  ["nesting", `applications: ${"[".repeat(100_000)}`, yaml, 400],
  ["dashes", `${"- ".repeat(100_000)}x`, yaml, 400],
  ["a list", "- a", yaml, 400],
  ["no YAML", "a: b: c: [", yaml, 400],
])("YAML: %s", async (_name, body, headers, status) => {
  const answer = await call("POST", "/v3/manifests", { body, headers });
  expect([answer.status, answer.status === 200 || Array.isArray(answer.json.errors)]).toEqual([status, true]);
});

test("a huge body is refused before it is read", async () => {
  const { port } = server.address() as AddressInfo;
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(
      {
        port,
        method: "POST",
        path: "/v3/things",
        headers: { authorization: "bearer x", "content-length": String(1 << 30) },
      },
      (response) => {
        resolve(response.statusCode);
        response.destroy();
      },
    );
    request.on("error", reject);
    request.write("{");
  });
  expect(status).toBe(413);
});

test.each([
  ["of a usual size is read to its end, so that its sender receives the error", 100_000, "keep-alive"],
  ["of a great size is cut off", 10_000_000, "close"],
])("a body %s, when it is refused early", async (_what, length, connection) => {
  const sent = httpRequest(`${base}/v3/nothing-there`, {
    method: "POST",
    headers: { authorization: "bearer x", "content-type": "application/json", "content-length": length },
  });
  sent.on("error", () => undefined).write("{".repeat(1000));
  const answer = await new Promise<IncomingMessage>((resolve) => sent.on("response", resolve));
  expect([answer.statusCode, answer.headers.connection]).toEqual([404, connection]);
  sent.destroy();
});

test("what needs no body is refused before the body is read", async () => {
  const { status, json } = await call("POST", "/v3/guarded", { headers: { "content-type": "text/plain" }, body: "[" });
  expect([status, json.errors?.[0]?.detail]).toEqual([404, "Space not found"]);
});
