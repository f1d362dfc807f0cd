// The example broker against a stub of the Kubernetes API: its catalog by labels, and bindings of Services and claims.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toVolumes } from "../../../crds/service-binding/volumes.ts";

const BROKER = join(import.meta.dirname, "..", "..", "..", "examples", "cluster-broker", "broker.cjs");
const OBJECTS: Record<string, object[]> = {
  "/api/v1/services": [
    {
      metadata: { uid: "s-1", name: "pg", namespace: "databases", labels: { "broker.example.com/plan": "postgres" } },
      spec: { ports: [{ name: "sql", port: 5432 }] },
    },
  ],
  "/api/v1/persistentvolumeclaims": [
    aClaim("v-1", "models", { "cupola.dev/volume": "read-only" }),
    aClaim("v-2", "closed", {}),
  ],
  "/api/v1/namespaces": [{ metadata: { name: "acme-dev" } }],
};

function aClaim(uid: string, name: string, labels: object): object {
  return { metadata: { uid, name, namespace: "acme-dev", labels: { "broker.example.com/plan": name, ...labels } } };
}

let api: Server;
let broker: ChildProcess;
let base: string;

beforeAll(async () => {
  api = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://api");
    const items = searchParams.get("labelSelector") === "cupola.dev/space-guid=other" ? [] : OBJECTS[pathname];
    response.writeHead(items ? 200 : 404).end(JSON.stringify({ items }));
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  broker = spawn(process.execPath, [BROKER], {
    env: {
      PORT: "0",
      ADDRESS: "127.0.0.1",
      BROKER_USER: "u",
      BROKER_PASSWORD: "p",
      KUBERNETES_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
      KUBERNETES_TOKEN: "t",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(broker.stdout!, "data")) as [Buffer];
  base = `http://127.0.0.1:${/\d+/.exec(line.toString())?.[0]}`;
});
afterAll(() => {
  broker?.kill("SIGKILL");
  api?.close();
});

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function ask(method: string, path: string, body?: object, headers: object = {}): Promise<Answer> {
  const answer = await fetch(base + path, {
    method,
    headers: { authorization: `Basic ${btoa("u:p")}`, "x-broker-api-version": "2.17", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Answer["body"] };
}

const SERVICE = "b1f4b6c0-7a3f-4d52-9d0c-5b6d2f1a0c01";
const VOLUME = "b1f4b6c0-7a3f-4d52-9d0c-5b6d2f1a0c02";
const bindVolume = (plan: string, more: object = {}): Promise<Answer> =>
  ask("PUT", "/v2/service_instances/i/service_bindings/b", {
    service_id: VOLUME,
    plan_id: plan,
    bind_resource: { app_guid: "a", space_guid: "s" },
    ...more,
  });

test("the catalog has a plan for each labelled object", async () => {
  const { body } = await ask("GET", "/v2/catalog");
  expect(body).toMatchObject({
    services: [
      { id: SERVICE, name: "cluster-service", plans: [{ id: "s-1", name: "postgres" }] },
      { id: VOLUME, requires: ["volume_mount"], plans: [{ name: "models" }, { name: "closed" }] },
    ],
  });
});

test("a Service is host and port", async () => {
  const ids = { service_id: SERVICE, plan_id: "s-1" };
  expect((await ask("PUT", "/v2/service_instances/i", { ...ids, organization_guid: "o", space_guid: "s" })).status).toBe(201);
  expect(await ask("PUT", "/v2/service_instances/i/service_bindings/b", ids)).toMatchObject({
    status: 201,
    body: { credentials: { host: "pg.databases.svc.cluster.local", port: 5432, ports: { sql: 5432 } } },
  });
  expect((await ask("DELETE", "/v2/service_instances/i?service_id=x&plan_id=y")).status).toBe(200);
});

test("a claim is a volume that the platform can mount", async () => {
  const { status, body } = await bindVolume("v-1", { parameters: { mount: "/data/models" } });
  expect(status).toBe(201);
  expect(toVolumes(body["volume_mounts"] as unknown[])).toEqual({
    claims: [{ claimName: "models", mountPath: "/data/models", readOnly: true }],
  });
});

test.each<[string, () => Promise<Answer>, number, RegExp]>([
  ["of a claim that nobody opened", () => bindVolume("v-2"), 400, /no label cupola\.dev\/volume/],
  ["to write where it may be read", () => bindVolume("v-1", { parameters: { mode: "rw" } }), 400, /is read-only/],
  ["of a plan that is gone", () => bindVolume("v-9"), 400, /no such plan/],
  ["for another space", () => bindVolume("v-1", { bind_resource: { app_guid: "a", space_guid: "other" } }), 400, /only apps of/],
  ["without an app", () => bindVolume("v-1", { bind_resource: {} }), 422, /for an app/],
  ["without the version", () => ask("GET", "/v2/catalog", undefined, { "x-broker-api-version": "1" }), 412, /2\.x/],
  ["by a stranger", () => ask("GET", "/v2/catalog", undefined, { authorization: "Basic eDp5" }), 401, /unknown user/],
])("a request %s is refused", async (...[, send, status, words]) => {
  const answer = await send();
  expect([answer.status, answer.body["description"]]).toEqual([status, expect.stringMatching(words)]);
});
