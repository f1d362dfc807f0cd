// The class `internal-dns` on an API server: conditions of internal routes, and names that follow the instances.
import { Resolver } from "node:dns/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDNSServer } from "../../../backends/routers/internal-dns/dns-server.ts";
import { internalDNSRouter, watchNames } from "../../../backends/routers/internal-dns/internal-dns.ts";
import { resolve } from "../../../backends/routers/internal-dns/resolve.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { startControllers } from "../../run-controllers.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";

const ends = new AsyncDisposableStack();
const resolver = new Resolver({ timeout: 5_000, tries: 1 });
let client: KubeClient;

beforeAll(async () => {
  const server = await startEmbedded();
  ends.defer(() => server.stop());
  const { url, ca, adminToken: token } = server;
  client = createClient({ server: url, ca, auth: { kind: "token", token }, fieldManager: "person" });
  ends.defer(() => client.close());
  const log = pino({ level: "silent" });
  // As a process that starts before the platform's kinds are there.
  const informers = createInformers({ client, log });
  ends.defer(() => informers.close());
  const names = watchNames(informers);
  ends.defer(() => names.release());
  const dns = await startDNSServer({
    host: "127.0.0.1",
    port: 0,
    answer: (question) => resolve(question, names, 0),
    onError: (error) => expect.unreachable(String(error)),
  });
  ends.defer(() => dns.close());
  resolver.setServers([`127.0.0.1:${dns.port}`]);
  await expect(resolver.resolve4("shop.apps.internal")).rejects.toMatchObject({ code: "ESERVFAIL" });

  await installManifests(client);
  await applyObjects(client, [systemObject(Domain, "apps.internal", { name: "apps.internal", internal: true })]);
  await client.create(BackendClass, { metadata: { name: "internal-dns" }, spec: { role: "router" } });
  for (const name of ["dev", "other"]) await client.create(Namespace, { metadata: { name } });
  startControllers({ client, controllers: internalDNSRouter(), informers, log }, ends);
}, 120_000);
afterAll(() => ends.disposeAsync());

async function runApp(name: string, namespace: string, hosts: readonly string[]): Promise<void> {
  const key = { namespace, name };
  if (!(await client.find(LRP, key)))
    await client.create(LRP, {
      metadata: { ...key, labels: { [LABELS.app]: `${name}-guid` } },
      spec: lrpSpec({ instances: 2, app: { guid: `${name}-guid`, name }, processType: "web" }),
    } as never);
  const instances = hosts.map((host, index) => ({ index, host, state: "Running", ready: true }));
  const body = { status: { instances, runningInstances: hosts.length } };
  await client.patch(LRP, key, { type: "merge", body }, { subresource: "status" });
}

const bind = (hostname: string, apps: readonly object[], internal = true): Promise<unknown> =>
  client.create(RouteBinding, {
    metadata: { name: hostname, namespace: "dev" },
    spec: {
      class: "internal-dns",
      routeGUID: `${hostname}-guid`,
      space: { guid: "dev", name: "dev" },
      org: { guid: "acme", name: "acme" },
      hostname,
      internal,
      destinations: apps.map((app) => ({ processType: "web", port: 8080, ...app })),
    },
  } as never);
const shop = { appGUID: "shop-guid", app: "shop" };
const cart = { appGUID: "cart-guid", app: "cart", namespace: "other" };

const names = async (name: string): Promise<unknown> =>
  (await resolver.resolve4(name).catch((error: unknown) => [(error as { code: string }).code])).toSorted();
const untilNames = (name: string, expected: readonly string[]): Promise<void> =>
  eventually(async () => expect(await names(name)).toEqual(expected), 30_000);
const untilReady = (hostname: string, expected: object): Promise<void> =>
  eventually(async () => {
    const { status } = await client.get(RouteBinding, { namespace: "dev", name: hostname });
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject(expected);
  }, 30_000);

test("a name follows the instances of all its apps, those of another space included", async () => {
  await untilNames("shop.apps.internal", ["ENOTFOUND"]);
  await bind("shop.apps.internal", [shop, cart]);
  await untilNames("shop.apps.internal", ["ENODATA"]);
  await runApp("shop", "dev", ["10.1.0.1", "10.1.0.2"]);
  await runApp("cart", "other", ["10.2.0.1"]);
  await untilNames("shop.apps.internal", ["10.1.0.1", "10.1.0.2", "10.2.0.1"]);
  await untilNames("1.shop.apps.internal", ["10.1.0.2"]);
  await untilReady("shop.apps.internal", { status: "True", reason: "Routed" });
  // As the platform restarts and removes instances, before a runner has seen it.
  const shopKey = { namespace: "dev", name: "shop" };
  const patchShop = (spec: object) => client.patch(LRP, shopKey, { type: "merge", body: { spec } });
  await patchShop({ restartInstances: { "0": "now" } });
  await untilNames("shop.apps.internal", ["10.1.0.2", "10.2.0.1"]);
  await patchShop({ instances: 1, restartInstances: null });
  await untilNames("shop.apps.internal", ["10.1.0.1", "10.2.0.1"]);
  await runApp("shop", "dev", ["10.1.0.1"]);
  await untilNames("1.shop.apps.internal", ["ENOTFOUND"]);
  await client.delete(RouteBinding, { namespace: "dev", name: "shop.apps.internal" });
  await untilNames("shop.apps.internal", ["ENOTFOUND"]);
});

test("a route that is not internal is not served by it, and has no name", async () => {
  await bind("shop.apps.example", [shop], false);
  await untilReady("shop.apps.example", { status: "False", reason: "NotSupported" });
  expect(await names("shop.apps.example")).toEqual(["EREFUSED"]);
});

test("the class says what it can", async () => {
  await eventually(async () => {
    const { status } = await client.get(BackendClass, { name: "internal-dns" });
    expect(status?.capabilities).toMatchObject({ internal: "dns" });
  }, 30_000);
});
