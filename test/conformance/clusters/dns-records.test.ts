// DNS records of hosts whose apps are placed on clusters: written once the cluster has external-dns' kind, one for each host, and of shared domains only.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dnsRecordsController } from "../../../controllers/route-binding/dns-records.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { startControllers } from "../../run-controllers.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { applyDNSEndpointAPI, DNSEndpoint } from "../../cluster/dns-endpoint-api.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";

describe("DNS records of apps on several clusters", () => {
  const ends = new AsyncDisposableStack();
  let client: KubeClient;

  beforeAll(async () => {
    const server = await startEmbedded();
    ends.defer(() => server.stop());
    const { url, ca, adminToken: token } = server;
    client = createClient({ server: url, ca, auth: { kind: "token", token }, fieldManager: "person" });
    ends.defer(() => client.close());
    await installManifests(client);
    await applyObjects(client, [
      systemObject(Domain, "apps.example", { name: "apps.example" }),
      ...["east", "west"].map((name, index) =>
        systemObject(Cluster, name, { mode: "push", routerAddresses: [`192.0.2.${index + 1}`] }),
      ),
    ]);
    for (const name of ["east", "west"]) await setCluster(name, {});
    for (const name of ["dev", "other"]) await client.create(Namespace, { metadata: { name } });
  }, 60_000);
  afterAll(() => ends.disposeAsync());

  async function setCluster(name: string, status: object): Promise<void> {
    const body = { status: { classes: [{ role: "router", name: "ingress" }], ...status } };
    await client.patch(
      Cluster,
      { namespace: SYSTEM_NAMESPACE, name },
      { type: "merge", body },
      { subresource: "status" },
    );
  }

  const bind = (name: string, hostname: string, { namespace = "dev", path = "" } = {}): Promise<KubeObject> =>
    client.create(RouteBinding, {
      metadata: { name, namespace },
      spec: {
        class: "ingress",
        routeGUID: `${name}-guid`,
        space: { guid: "dev", name: "dev" },
        org: { guid: "acme", name: "acme" },
        hostname,
        path,
        destinations: [{ appGUID: "shop", app: "shop", processType: "web", port: 8080 }],
      },
    });

  async function setReady(ready: readonly string[]): Promise<void> {
    const clusters = ["east", "west"].map((name, index) => ({
      name,
      lrp: `shop-${name}`,
      revision: "1",
      class: "deployment",
      processGUID: "shop",
      memoryMB: 64,
      diskMB: 64,
      logRateLimitBytesPerSecond: -1,
      wanted: 1,
      instances: [{ index, state: ready.includes(name) ? "Running" : "Starting", ready: ready.includes(name) }],
    }));
    const key = { namespace: "dev", name: "shop.web" };
    await client.patch(
      PlacementDecision,
      key,
      { type: "merge", body: { status: { clusters } } },
      { subresource: "status" },
    );
  }

  interface SeenRecord {
    namespace: string | undefined;
    name: string;
    targets: string[];
  }
  async function records(): Promise<SeenRecord[]> {
    const { items } = await client.list<KubeObject & { spec: { endpoints: { dnsName: string; targets: string[] }[] } }>(
      DNSEndpoint,
    );
    return items.flatMap(({ metadata, spec }) =>
      spec.endpoints.map(({ dnsName: name, targets }) => ({ namespace: metadata.namespace, name, targets })),
    );
  }
  const untilRecords = (expected: SeenRecord[]): Promise<void> =>
    eventually(async () => expect(await records()).toEqual(expected));
  const shop = (...targets: string[]): SeenRecord[] => [{ namespace: "dev", name: "shop.apps.example", targets }];

  test("come with the kind, follow readiness, silence and addresses, and go with the route", async () => {
    await client.create(PlacementDecision, {
      metadata: { namespace: "dev", name: "shop.web" },
      spec: {
        segment: "shared",
        app: "shop",
        processType: "web",
        assignments: ["east", "west"].map((cluster, index) => ({
          cluster,
          indexes: [{ start: index, end: index }],
          state: "Active",
          reason: "Chosen",
        })),
      },
    });
    await setReady(["east", "west"]);
    await bind("shop", "shop.apps.example");
    await bind("private", "www.private.example");

    const log = pino({ level: "silent" });
    const timing = { backoff: { minMs: 50, maxMs: 500, jitter: 1 }, parked: { minMs: 100, maxMs: 500, jitter: 1 } };
    const informers = createInformers({ client, log, timing });
    ends.defer(() => informers.close());
    const run = startControllers({ client, controllers: [dnsRecordsController()], informers, log }, ends);
    await eventually(async () => expect(run.unsyncedControllers()).toMatchObject([{ controller: "dns-records" }]));

    await applyDNSEndpointAPI(client);
    await untilRecords(shop("192.0.2.1", "192.0.2.2"));
    const binding = await client.get(RouteBinding, { namespace: "dev", name: "shop" });
    expect(binding.status?.conditions).toMatchObject([{ type: "DNSRecord", status: "True", reason: "Written" }]);

    await setReady(["west"]);
    await untilRecords(shop("192.0.2.2"));
    await setReady(["east", "west"]);
    await untilRecords(shop("192.0.2.1", "192.0.2.2"));

    const since = new Date().toISOString();
    const silent = { type: "Reachable", status: "False", reason: "Silent", message: "", lastTransitionTime: since };
    await setCluster("west", { silentSince: since, conditions: [silent] });
    await untilRecords(shop("192.0.2.1"));
    await setCluster("west", { silentSince: null, conditions: [] });
    await untilRecords(shop("192.0.2.1", "192.0.2.2"));

    const body = { spec: { routerAddresses: ["192.0.2.9"] } };
    await client.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" }, { type: "merge", body });
    await untilRecords(shop("192.0.2.2", "192.0.2.9"));

    await bind("other", "shop.apps.example", { namespace: "other", path: "/other" });
    await run.idle();
    expect(await records()).toEqual(shop("192.0.2.2", "192.0.2.9"));
    await client.delete(RouteBinding, { namespace: "dev", name: "shop" });
    await untilRecords(shop("192.0.2.2", "192.0.2.9").map((one) => ({ ...one, namespace: "other" })));
    await client.delete(RouteBinding, { namespace: "other", name: "other" });
    await untilRecords([]);
  }, 60_000);

  test("an address of a Cluster is an IP address", async () => {
    const body = { spec: { routerAddresses: ["lb.example.org"] } };
    await expect(
      client.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" }, { type: "merge", body }),
    ).rejects.toThrow("must be an IP address");
  });
});
