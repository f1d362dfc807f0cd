// The whole server over HTTPS: restarts, clean-up, and refused requests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import { type ApiServer, startApiServer } from "./server.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
const tokens = new Map([["root", { name: "root", groups: ["system:masters"] }]]);
let dir: string;
let server: ApiServer;
let agent: Agent;

const start = async () => {
  server = await startApiServer({ dir, port: 0, host: "127.0.0.1", tokens, onError: (error) => errors.push(error) });
  agent = new Agent({ connect: { ca: server.ca } });
};
const errors: unknown[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "apiserver-"));
  await start();
});
afterAll(async () => {
  await agent.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

async function send(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await request(server.url + path, {
    method,
    dispatcher: agent,
    headers: { authorization: "Bearer root", "content-type": "application/json", ...headers },
    body:
      body === undefined || Buffer.isBuffer(body)
        ? (body as Buffer | undefined)
        : typeof body === "string"
          ? body
          : JSON.stringify(body),
  });
  const text = await response.body.text();
  return {
    status: response.statusCode,
    body: (text.startsWith("{") ? JSON.parse(text) : { text }) as KubeObject & {
      message?: string;
      reason?: string;
      code?: number;
    },
  };
}
const at = (namespace: string, name = "") => `/api/v1/namespaces/${namespace}/configmaps${name && `/${name}`}`;
const configMap = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data: { a: "1" },
});
const namespace = (name: string) =>
  send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
const gone = (path: string) =>
  vi.waitFor(async () => expect((await send("GET", path)).status).toBe(404), { timeout: 5_000 });
const ownedBy = ({ metadata }: KubeObject, block = false) => ({
  ownerReferences: [
    { apiVersion: "v1", kind: "ConfigMap", name: metadata.name, uid: metadata.uid, blockOwnerDeletion: block },
  ],
});

test("dependents go with their owner; orphans stay; foreground waits for blockers", async () => {
  const owner = (await send("POST", at("default"), configMap("owner"))).body;
  await send("POST", at("default"), configMap("child", ownedBy(owner)));
  expect((await send("DELETE", at("default", "owner"))).body).toMatchObject({ kind: "Status", status: "Success" });
  await gone(at("default", "child"));

  const second = (await send("POST", at("default"), configMap("second"))).body;
  await send("POST", at("default"), configMap("orphan", ownedBy(second)));
  await send("DELETE", `${at("default", "second")}?propagationPolicy=Orphan`);
  await gone(at("default", "second"));
  expect((await send("GET", at("default", "orphan"))).body.metadata.ownerReferences).toBeUndefined();

  const third = (await send("POST", at("default"), configMap("third"))).body;
  await send("POST", at("default"), configMap("blocker", { ...ownedBy(third, true), finalizers: ["test.org/wait"] }));
  await send("DELETE", at("default", "third"), {
    kind: "DeleteOptions",
    apiVersion: "v1",
    propagationPolicy: "Foreground",
  });
  await vi.waitFor(async () =>
    expect((await send("GET", at("default", "blocker"))).body.metadata.deletionTimestamp).toBeDefined(),
  );
  expect((await send("GET", at("default", "third"))).body.metadata.finalizers).toEqual(["foregroundDeletion"]);
  await send(
    "PATCH",
    at("default", "blocker"),
    { metadata: { finalizers: null } },
    { "content-type": "application/merge-patch+json" },
  );
  await gone(at("default", "third"));
});

test("an object whose owner never was is collected", async () => {
  await send(
    "POST",
    at("default"),
    configMap("stray", {
      ownerReferences: [
        { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "00000000-0000-0000-0000-000000000000" },
      ],
    }),
  );
  await gone(at("default", "stray"));
});

test("a namespace takes its content along, waits for finalizers, and refuses new content meanwhile", async () => {
  await namespace("leaving");
  await vi.waitFor(async () =>
    expect((await send("GET", "/api/v1/namespaces/leaving/serviceaccounts/default")).status).toBe(200),
  );
  await send("POST", at("leaving"), configMap("held", { finalizers: ["test.org/wait"] }));
  await send("POST", at("leaving"), configMap("plain"));
  expect((await send("DELETE", "/api/v1/namespaces/leaving")).body).toMatchObject({
    kind: "Namespace",
    status: { phase: "Terminating" },
  });
  await gone(at("leaving", "plain"));
  expect(await send("POST", at("leaving"), configMap("late"))).toMatchObject({
    status: 403,
    body: { reason: "Forbidden", details: { causes: [{ reason: "NamespaceTerminating" }] } },
  });
  await send("PATCH", at("leaving", "held"), [{ op: "remove", path: "/metadata/finalizers" }], {
    "content-type": "application/json-patch+json",
  });
  await gone("/api/v1/namespaces/leaving");
});

const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.test.org" },
  spec: {
    group: "test.org",
    scope: "Cluster",
    names: { plural: "things", kind: "Thing" },
    versions: ["v1", "v1beta1"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: { spec: { type: "object", properties: { size: { type: "integer", default: 1 } } } },
        },
      },
    })),
  },
};
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

test("a CRD is served with its create, in every version, and takes its objects along", async () => {
  expect((await send("POST", CRDS, crd)).status).toBe(201);
  const made = await send("POST", "/apis/test.org/v1beta1/things", {
    apiVersion: "test.org/v1beta1",
    kind: "Thing",
    metadata: { name: "t", finalizers: ["test.org/wait"] },
    spec: { foo: 1 },
  });
  expect(made.body).toMatchObject({ apiVersion: "test.org/v1beta1", spec: { size: 1 } });
  expect((await send("GET", "/apis/test.org/v1/things/t")).body).toMatchObject({
    apiVersion: "test.org/v1",
    spec: { size: 1 },
  });
  await send("DELETE", `${CRDS}/things.test.org`);
  await vi.waitFor(async () =>
    expect((await send("GET", "/apis/test.org/v1/things/t")).body.metadata.deletionTimestamp).toBeDefined(),
  );
  expect((await send("GET", `${CRDS}/things.test.org`)).status).toBe(200);
  expect(
    (
      await send("POST", "/apis/test.org/v1/things", {
        apiVersion: "test.org/v1",
        kind: "Thing",
        metadata: { name: "late" },
      })
    ).status,
  ).toBe(405);
  await send(
    "PATCH",
    "/apis/test.org/v1/things/t",
    { metadata: { finalizers: null } },
    { "content-type": "application/merge-patch+json" },
  );
  await gone(`${CRDS}/things.test.org`);
  expect((await send("GET", "/apis/test.org/v1/things")).status).toBe(404);
});

test("everything is there after a restart, under the same versions", async () => {
  const made = (await send("POST", at("default"), configMap("kept"))).body;
  await vi.waitFor(() => expect(server.reader.find("", "configmaps", "default", "kube-root-ca.crt")).toBeDefined());
  const { ca } = server;
  const version = server.version();
  await agent.close();
  await server.stop();
  await start();
  expect(server.ca).toBe(ca);
  expect((await send("GET", at("default", "kept"))).body).toEqual(made);
  // Nothing is written by starting again.
  expect(server.version()).toBe(version);
});

test("reads kubectl's protobuf", async () => {
  const field = (number: number, bytes: Buffer | string) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(bytes)]), Buffer.from(bytes)]);
  const entry = Buffer.concat([field(1, "k"), field(2, "v")]);
  const object = Buffer.concat([field(1, field(1, "proto")), field(2, entry)]);
  const body = Buffer.concat([
    Buffer.from("k8s\0"),
    field(1, Buffer.concat([field(1, "v1"), field(2, "ConfigMap")])),
    field(2, object),
  ]);
  const answer = await send("POST", at("default"), body, { "content-type": "application/vnd.kubernetes.protobuf" });
  expect(answer).toMatchObject({ status: 201, body: { metadata: { name: "proto" }, data: { k: "v" } } });
  expect(
    (await send("POST", at("default"), body.subarray(0, 20), { "content-type": "application/vnd.kubernetes.protobuf" }))
      .status,
  ).toBe(400);
});

test.each([
  ["a huge body", () => ({ ...configMap("x"), data: { a: "x".repeat(4 * 1024 * 1024) } }), 413],
  ["broken JSON", () => "{", 400],
  [
    "a YAML bomb",
    () =>
      `a: &a [x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f", "g"].map((key, i) => `${key}: &${key} [${Array(9).fill(`*${"abcdef"[i]}`).join(",")}]`).join("\n")}`,
    400,
  ],
  ["a prototype", () => '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"__proto__":{"a":1}}', 400],
  [
    "deep nesting",
    () =>
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
    400,
  ],
  ["no token", () => configMap("x"), 403, { authorization: "" }],
  ["a wrong token", () => configMap("x"), 401, { authorization: "Bearer nope" }],
])("refuses %s", async (_what, body, status, headers?: Record<string, string>) => {
  expect((await send("POST", at("default"), body(), headers)).status).toBe(status);
});
