// A stolen credential of a pull cluster's agent, on the hub: it reads and changes nothing but its own cluster's, on kube-apiserver and on the embedded server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addPullCluster } from "../../../cli/cluster/add-pull.ts";
import { silentProgress } from "../../../cli/output.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { AGENT_ACCOUNT, AGENT_LEASE, clusterNamespace, WORK_FINALIZER } from "../../../crds/work/names.ts";
import { AGENT_TOKEN_SECONDS } from "../../../crds/work/policies.ts";
import { toWork } from "../../../crds/work/remote-object.ts";
import { Work } from "../../../crds/work/work.ts";
import { ConfigMap, Lease, Namespace, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { isForbidden } from "../../../kube/client/errors.ts";
import { installManifests } from "../../../platform/install.ts";
import { requestToken } from "../../../platform/operations/hub-login.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";

const [OWN, OTHER] = [clusterNamespace("west"), clusterNamespace("east")];
const merge = (body: Record<string, unknown>) => ({ type: "merge", body }) as const;
const status = { subresource: "status" };
const report = { clusterUID: "uid", classes: [] };

const reason = whyNoControlPlane();
stolenAgentTests("embedded", () => startEmbedded());
if (reason) test.skip(`a stolen agent on kube-apiserver: skipped, ${reason}`, () => undefined);
else stolenAgentTests("kube-apiserver", () => startControlPlane());

function stolenAgentTests(server: string, start: () => Promise<Server>): void {
  describe(`a stolen credential of a pull cluster, ${server}`, () => {
    const ends: (() => Promise<unknown>)[] = [];
    let admin: KubeClient;
    let agent: KubeClient;
    let work: string;

    beforeAll(async () => {
      const started = await start();
      ends.push(() => started.stop());
      const connect = (token: string): KubeClient => {
        const client = createClient({ server: started.url, ca: started.ca, auth: { kind: "token", token } });
        ends.push(() => client.close());
        return client;
      };
      admin = connect(started.adminToken);
      await installManifests(admin);
      for (const name of ["west", "east"]) await addPullCluster(admin, name, { progress: silentProgress });
      for (const [cluster, namespace] of [
        ["west", OWN],
        ["east", OTHER],
      ] as const) {
        const object = {
          metadata: { name: "route", namespace: "acme-dev", labels: { [LABELS.hub]: "hub" } },
          spec: { class: "router", host: "shop", domain: "apps.example", routeGUID: "guid", destinations: [] },
        };
        work = (await admin.create(Work, toWork(cluster, RouteBinding, object))).metadata.name;
        await admin.create(Secret, { metadata: { namespace, name: "copy" }, data: { a: "YQ==" } });
        await admin.patch(
          Cluster,
          { namespace: SYSTEM_NAMESPACE, name: cluster },
          merge({ status: { lrps: 1 } }),
          status,
        );
      }
      await admin.create(Secret, { metadata: { namespace: SYSTEM_NAMESPACE, name: "platform" }, data: { a: "YQ==" } });
      agent = connect((await requestToken(admin, "west")).token);
      // New rights, and new policies.
      await eventually(async () => expect((await agent.list(Work, { namespace: OWN })).items).toHaveLength(1));
      await eventually(() =>
        refused(agent.patch(Work, { namespace: OWN, name: work }, merge({ spec: { remove: true } }), { dryRun: true })),
      );
      await eventually(() => refused(requestToken(agent, "west", undefined, AGENT_TOKEN_SECONDS + 1)));
    }, 120_000);
    afterAll(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    }, 60_000);

    async function refused(call: Promise<unknown>): Promise<void> {
      const error = await call.then(
        () => undefined,
        (cause: unknown) => cause,
      );
      expect(isForbidden(error), String(error ?? "it was allowed")).toBe(true);
    }

    test("it does what an agent needs", async () => {
      const key = { namespace: OWN, name: work };
      await agent.get(Secret, { namespace: OWN, name: "copy" });
      await agent.patch(Work, key, merge({ status: { observedGeneration: 1 } }), status);
      await agent.patch(Lease, { namespace: OWN, name: AGENT_LEASE }, merge({ spec: { holderIdentity: "west" } }));
      const cluster = { namespace: SYSTEM_NAMESPACE, name: "west" };
      await agent.get(Cluster, cluster);
      await agent.patch(Cluster, cluster, merge({ status: { agent: report } }), status);
      await requestToken(agent, "west");
    });

    test.each<[string, (as: KubeClient) => Promise<unknown>]>([
      ["lists all Works", (as) => as.list(Work)],
      ["lists the Works of another cluster", (as) => as.list(Work, { namespace: OTHER })],
      ["reads a Secret of another cluster", (as) => as.get(Secret, { namespace: OTHER, name: "copy" })],
      ["reads a Secret of the platform", (as) => as.get(Secret, { namespace: SYSTEM_NAMESPACE, name: "platform" })],
      ["lists its Secrets", (as) => as.list(Secret, { namespace: OWN })],
      ["lists ConfigMaps", (as) => as.list(ConfigMap, { namespace: OWN })],
      ["lists namespaces", (as) => as.list(Namespace)],
      ["reads another Cluster", (as) => as.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" })],
      ["lists Clusters", (as) => as.list(Cluster, { namespace: SYSTEM_NAMESPACE })],
      ["gets a token of another cluster's agent", (as) => requestToken(as, "east")],
      [
        "gets a token of another account of its namespace",
        (as) =>
          as.raw("POST", `/api/v1/namespaces/${OWN}/serviceaccounts/default/token`, {
            apiVersion: "authentication.k8s.io/v1",
            kind: "TokenRequest",
            spec: {},
          }),
      ],
      [
        "gets a token that lasts longer than a week",
        (as) => requestToken(as, "west", undefined, AGENT_TOKEN_SECONDS + 1),
      ],
      ["makes a Work", (as) => as.create(Work, { metadata: { namespace: OWN, name: "mine" }, spec: { kind: "LRP" } })],
      ["makes a Secret", (as) => as.create(Secret, { metadata: { namespace: OWN, name: "mine" } })],
      ["deletes a Work", (as) => as.delete(Work, { namespace: OWN, name: work })],
      ["changes a Work", (as) => as.patch(Work, { namespace: OWN, name: work }, merge({ spec: { remove: true } }))],
      [
        "labels a Work",
        (as) =>
          as.patch(Work, { namespace: OWN, name: work }, merge({ metadata: { labels: { [LABELS.hub]: "other" } } })),
      ],
      [
        "adds a finalizer",
        (as) =>
          as.patch(
            Work,
            { namespace: OWN, name: work },
            merge({ metadata: { finalizers: [WORK_FINALIZER, "example.org/mine"] } }),
          ),
      ],
      [
        "says of its Cluster what the platform says",
        (as) =>
          as.patch(
            Cluster,
            { namespace: SYSTEM_NAMESPACE, name: "west" },
            merge({ status: { allowedDeletes: "all", conditions: [] } }),
            status,
          ),
      ],
      [
        "changes its Cluster",
        (as) => as.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" }, merge({ spec: { cordoned: true } })),
      ],
      [
        "reports for another Cluster",
        (as) =>
          as.patch(
            Cluster,
            { namespace: SYSTEM_NAMESPACE, name: "east" },
            merge({ status: { agent: report } }),
            status,
          ),
      ],
      [
        "renews another cluster's Lease",
        (as) => as.patch(Lease, { namespace: OTHER, name: AGENT_LEASE }, merge({ spec: { holderIdentity: "west" } })),
      ],
    ])("is refused where it %s", (_what, attempt) => refused(attempt(agent)));

    test("the account's deletion takes its tokens back", async () => {
      await admin.raw("DELETE", `/api/v1/namespaces/${OWN}/serviceaccounts/${AGENT_ACCOUNT}`);
      await eventually(async () => {
        const error = await agent.list(Work, { namespace: OWN }).catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code: 401 });
      });
    });
  });
}
