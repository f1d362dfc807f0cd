// Requests of hostile or broken clients: no extra rights, no 500, no effect on other clients.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, startApiServer } from "./server.ts";

const tokens = new Map([
  ["root", { name: "root", groups: ["system:masters"] }],
  ["tenant", { name: "tenant", groups: [] }],
]);
let dir: string;
let server: ApiServer;
let agent: Agent;
const errors: unknown[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "apiserver-"));
  server = await startApiServer({ dir, port: 0, host: "127.0.0.1", tokens, onError: (error) => errors.push(error) });
  agent = new Agent({ connect: { ca: server.ca } });
  for (const name of ["mine", "other"]) await send("POST", "/api/v1/namespaces", { metadata: { name } });
  await send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/mine/rolebindings", {
    metadata: { name: "all" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "tenant" }],
  });
});
afterAll(async () => {
  await agent.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
interface Extra {
  as?: string;
  headers?: Record<string, string>;
}

async function send(method: Method, path: string, body?: unknown, { as = "root", headers = {} }: Extra = {}) {
  const response = await agent.request({
    origin: server.url,
    path,
    method,
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json", ...headers },
    body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.body.text();
  return {
    status: response.statusCode,
    text,
    body: (text.startsWith("{") ? JSON.parse(text) : {}) as Record<string, unknown>,
  };
}
const type = (of: string) => ({ headers: { "content-type": `application/${of}` } });
const MAPS = "/api/v1/namespaces/mine/configmaps";
const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

describe("rights in one namespace are none outside it", () => {
  test.each<[Method, string]>([
    ["GET", "/api/v1/namespaces/mine/namespaces/other"],
    ["DELETE", "/api/v1/namespaces/mine/namespaces/other"],
    ["GET", "/api/v1/namespaces/mine/namespaces"],
    ["PUT", "/api/v1/namespaces/mine/namespaces/other/status"],
    ["PUT", "/api/v1/namespaces/mine/namespaces/other/finalize"],
    ["PUT", "/apis/apiextensions.k8s.io/v1/namespaces/mine/customresourcedefinitions/x.y/status"],
    ["GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/mine/clusterroles"],
    ["POST", "/apis/authorization.k8s.io/v1/namespaces/mine/subjectaccessreviews"],
    ["POST", "/apis/authentication.k8s.io/v1/namespaces/mine/tokenreviews"],
  ])("%s %s", async (method, path) => {
    const { status } = await send(method, path, method === "GET" ? undefined : {}, { as: "tenant" });
    expect(status).toBe(404);
    expect((await send("GET", "/api/v1/namespaces/other")).body).not.toHaveProperty("metadata.deletionTimestamp");
  });
});

test.each([
  ["1e300000000", "1e300000000"],
  ["1e999999999", "1e999999999"],
  ["1e-999999999", "1e-999999999"],
  ["with a million zeros", `1${"0".repeat(1_000_000)}e1`],
])("the quantity %s is refused before it is computed", async (_what, memory) => {
  const spec = {
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { labels: { a: "b" } },
      spec: { containers: [{ name: "c", image: "i", resources: { limits: { memory } } }] },
    },
  };
  const { status, text } = await send(
    "POST",
    "/apis/apps/v1/namespaces/mine/deployments",
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec },
    { as: "tenant" },
  );
  expect([status, text.includes("quantities must match")]).toEqual([400, true]);
});

function openWatch(query: string): Promise<{ lines: string[]; pause(): void; resume(): void; ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const socket = connect({ port: server.port, host: "127.0.0.1", ca: server.ca }, () => {
      socket.write(
        `GET ${MAPS}?watch=true&${query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer root\r\nconnection: close\r\n\r\n`,
      );
    });
    const ended = new Promise<void>((end) => socket.on("close", () => end()));
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => {
      lines.push(chunk.toString());
      resolve({ lines, pause: () => void socket.pause(), resume: () => void socket.resume(), ended });
    });
  });
}

test("a watch that has ended but was not read to its end gets no more changes and does not crash the server", async () => {
  const watch = await openWatch("timeoutSeconds=1");
  watch.pause();
  // More than the sockets hold, less than what cuts a slow client off; then the end comes, and after it more changes.
  for (let i = 0; i < 24; i++) await send("POST", MAPS, configMap(`w-${i}`, { a: "x".repeat(500_000) }));
  const until = Date.now() + 1_500;
  for (let i = 0; Date.now() < until; i++) expect((await send("POST", MAPS, configMap(`v-${i}`))).status).toBe(201);
  watch.resume();
  await watch.ended;
  expect((await send("DELETE", MAPS)).status).toBe(200);
}, 20_000);

test("a watch asked to last for ever lasts", async () => {
  const watch = await openWatch("timeoutSeconds=99999999&resourceVersion=0");
  await send("POST", MAPS, configMap("late"));
  await expect.poll(() => watch.lines.join("")).toContain('"late"');
});

type Refused = [method: Method, path: string, body: unknown, extra: Extra, status: number];

describe("what cannot be meant is refused, not a fault", () => {
  const copies = Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "/data", path: `/data/k${i}` }));
  test.each<[string, Refused]>([
    [
      "a patch that doubles the object again and again",
      ["PATCH", `${MAPS}/target`, copies, type("json-patch+json"), 413],
    ],
    [
      "a patch from nowhere",
      ["PATCH", `${MAPS}/target`, [{ op: "copy", from: 5, path: "/data" }], type("json-patch+json"), 400],
    ],
    ...["constructor", "__proto__", "toString"].map((op): [string, Refused] => [
      `a patch whose operation is ${op}`,
      ["PATCH", `${MAPS}/target`, [{ op, path: "/data/a", value: "b" }], type("json-patch+json"), 422],
    ]),
    [
      "a patch of a prototype",
      [
        "PATCH",
        `${MAPS}/target`,
        [{ op: "add", path: "/data/__proto__", value: { b: "c" } }],
        type("json-patch+json"),
        400,
      ],
    ],
    ["a patch that is none", ["PATCH", `${MAPS}/target`, [null], type("json-patch+json"), 422]],
    [
      "an apply of nulls",
      [
        "PATCH",
        `${MAPS}/target?fieldManager=t`,
        { apiVersion: null, kind: null, metadata: { name: null } },
        type("apply-patch+yaml"),
        400,
      ],
    ],
    ["a continue token of null", ["GET", `${MAPS}?continue=bnVsbA`, undefined, {}, 400]],
    [
      "a prototype, written in JSON escapes",
      [
        "PATCH",
        `${MAPS}/target`,
        '{"metadata":{"\\u005f_proto__":{"labels":{"a":"b"}}}}',
        type("merge-patch+json"),
        400,
      ],
    ],
    [
      "a prototype, written in YAML escapes",
      [
        "PATCH",
        `${MAPS}/target?fieldManager=t`,
        'apiVersion: v1\nkind: ConfigMap\n"\\x5f_proto__": {a: 1}\n',
        type("apply-patch+yaml"),
        400,
      ],
    ],
    ["delete options of the wrong type", ["DELETE", `${MAPS}/target`, { dryRun: "All" }, {}, 500]],
    ["delete options of another wrong type", ["DELETE", `${MAPS}/target`, { dryRun: 1 }, {}, 500]],
    [
      "a review of the wrong type",
      [
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        { spec: { groups: "system:masters", resourceAttributes: {} } },
        {},
        400,
      ],
    ],
    [
      "a token request of the wrong type",
      [
        "POST",
        "/api/v1/namespaces/mine/serviceaccounts/default/token",
        { spec: { expirationSeconds: "soon" } },
        {},
        400,
      ],
    ],
    [
      "a token bound to what cannot hold one",
      [
        "POST",
        "/api/v1/namespaces/mine/serviceaccounts/default/token",
        { spec: { boundObjectRef: { kind: "ServiceAccount", name: "default" } } },
        {},
        422,
      ],
    ],
    [
      "a field selector by a word of the language",
      ["GET", `${MAPS}?fieldSelector=hasOwnProperty%3Dx`, undefined, {}, 400],
    ],
    ["a path that is no URL", ["GET", "//", undefined, {}, 404]],
    ["a path with a host in it", ["GET", "//api/v1/namespaces", undefined, {}, 200]],
    [
      "an impersonation header with a broken escape",
      ["GET", MAPS, undefined, { headers: { "impersonate-user": "x", "impersonate-extra-%zz": "y" } }, 403],
    ],
    [
      "managed fields that are none",
      [
        "PUT",
        `${MAPS}/target`,
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name: "target",
            managedFields: [
              {
                manager: "x",
                operation: "Apply",
                apiVersion: "v1",
                fieldsType: "FieldsV1",
                fieldsV1: { "k:{": {}, "f:data": { "k:{bad": { ".": {} } } },
              },
            ],
          },
        },
        {},
        200,
      ],
    ],
    ["a body in a prose of its own", ["POST", MAPS, "\u0000\u0001", {}, 400]],
    ["nesting without end", ["POST", MAPS, `${"[".repeat(200_000)}`, {}, 400]],
    ["nesting without end in YAML", ["POST", MAPS, `a: ${"[".repeat(100_000)}`, {}, 400]],
  ])("%s", async (_what, [method, path, body, extra, expected]) => {
    await send("POST", MAPS, configMap("target", { a: "b" }));
    const { status, text } = await send(method, path, body, extra);
    expect({ status, text: text.slice(0, 300) }).toMatchObject({ status: expected });
  });
});

test.each<[string, object]>([
  ["a column without a place", { additionalPrinterColumns: [{ name: "a", type: "string" }] }],
  ["a column of null", { additionalPrinterColumns: [null] }],
  ["a field of null", { selectableFields: [null] }],
  ["a scale without places", { subresources: { scale: {} } }],
  ["a version without a name", { name: undefined }],
])("a CRD with %s is refused before it is stored", async (_what, of) => {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } }, ...of };
  const names = { plural: "odds", singular: "odd", kind: "Odd", listKind: "OddList" };
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "odds.test.org" },
    spec: { group: "test.org", scope: "Namespaced", names, versions: [version] },
  };
  expect((await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)).status).toBe(422);
});

test("no label selects what is only a word of the language", async () => {
  await send("POST", MAPS, configMap("plain"));
  expect((await send("GET", `${MAPS}?labelSelector=constructor`)).body).toMatchObject({ items: [] });
});

test("garbage on the TLS port affects no other client", async () => {
  const socket = connect({ port: server.port, host: "127.0.0.1", ca: server.ca }, () =>
    socket.write("\u0000garbage\r\n\r\n"),
  );
  await new Promise((resolve) => socket.on("close", resolve));
  expect((await send("GET", "/healthz")).status).toBe(200);
});
