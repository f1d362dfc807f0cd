// A spoke serves its hub nothing without the token, and the usage of instances in pods with it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import { deriveHubToken } from "../peers/address-token.ts";
import { startHubLogs } from "./hub-logs.ts";

const lrp = {
  ...makeObject(LRP, "shop-web", { spec: lrpSpec({}) }),
  status: { instances: [1, 2].map((index) => ({ index, state: "Running", ready: true })) },
};
const usage = {
  metadata: { labels: { "cupola.dev/lrp": lrp.metadata.name, "cupola.dev/instance-index": "1" } },
  timestamp: "2026-01-01T00:00:00Z",
  containers: [{ name: "app", usage: { cpu: "500m", memory: "64Mi" } }],
};
const context = {
  client: { list: () => Promise.resolve({ items: [usage] }) },
  informers: { ensure: () => ({ store: { synced: true, list: () => [lrp] }, release: () => undefined }) },
  membership: { members: () => [] },
  log: pino({ level: "silent" }),
  disposables: new AsyncDisposableStack(),
} as unknown as Parameters<typeof startHubLogs>[0];
const server = createServer(startHubLogs(context, () => "secret"));

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

const ask = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/telemetry${path}`, { method, headers });
const token = { "x-cupola-token": deriveHubToken("secret") };

test.each<Record<string, string>>([
  {},
  { "x-cupola-token": "guess" },
  { authorization: `Bearer ${deriveHubToken("secret")}` },
])("nothing is served to %j", async (headers) => expect((await ask("/stats", headers)).status).toBe(401));

test("usage of the instances that are measured", async () => {
  const { instances } = (await (await ask("/stats?app=A", token)).json()) as { instances: object[] };
  const expected = { index: 1, lrpKey: `${lrp.metadata.namespace}/${lrp.metadata.name}`, usage: { cpu: 0.5 } };
  expect(instances).toMatchObject([expected]);
});

test("nothing is written, and a path that is not served is 404", async () => {
  expect((await ask("/logs", token, "POST")).status).toBe(405);
  expect((await ask("/pods", token)).status).toBe(404);
});
