// The webhook: who is refused and with which words, a certificate that is changed while it serves, and a cluster without it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { API_FIELD_MANAGER, GROUP, SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { ALLOWED } from "../../../kube/admission/admission-review.ts";
import { startAdmissionServer } from "../../../kube/admission/admission-server.ts";
import { ClusterRole, ConfigMap, Namespace, Role, ValidatingWebhookConfiguration } from "../../../kube/api/builtin.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { KubeError } from "../../../kube/client/errors.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { WEBHOOK_CONFIGURATION } from "../../../platform/webhook-options.ts";
import {
  certificateAt,
  findConfiguration,
  leaveAgedCertificates,
  log,
  startTestEnv,
  type Endpoint,
  type TestEnv,
} from "./test-env.ts";
import { eventually } from "../../eventually.ts";

export interface Server {
  name: string;
  start(): Promise<Endpoint>;
}

const SPACE = "acme-dev";
const OTHER_SPACE = "acme-prod";

export function webhookTests(server: Server): void {
  describe(`the webhook on ${server.name}`, () => {
    let endpoint: Endpoint;
    let testEnv: TestEnv;

    /** The refusal of this create by kubectl, which changes nothing; undefined when it would succeed. */
    const findRefusal = async (ref: ResourceRef, object: Draft): Promise<string | undefined> =>
      testEnv.admin.create(ref, object, { dryRun: true }).then(
        () => undefined,
        (error: unknown) => `${(error as KubeError).code} ${(error as KubeError).message}`,
      );
    const appCalled = (name: string, object = "other"): Draft => ({
      metadata: { namespace: SPACE, name: object },
      spec: { name },
    });
    const takenName = () => findRefusal(App, appCalled("Shop"));
    const takenDomain = () =>
      findRefusal(Domain, { metadata: { namespace: SYSTEM_NAMESPACE, name: "again" }, spec: { name: "apps.example" } });
    /** The same question over and over; the answers that differ, and how many there were. */
    const asking = {
      answers: new Set<string | undefined>(),
      count: 0,
      halt: new AbortController(),
      over: Promise.resolve(),
    };
    const keepAsking = async (): Promise<void> => {
      for (; !asking.halt.signal.aborted; asking.count++) asking.answers.add(await takenDomain());
    };
    const refusal = expect.stringMatching(
      /^422 .*names\.cupola\.dev.* the name is taken by another App of this space: choose another one/,
    ) as string;

    beforeAll(async () => {
      endpoint = await server.start();
      testEnv = await startTestEnv(endpoint);
      const { api } = testEnv;
      const org = await api.call("POST", "/v3/organizations", { name: "acme" });
      const [space] = await Promise.all(
        ["dev", "prod"].map((name) =>
          api.call("POST", "/v3/spaces", { name, relationships: { organization: { data: { guid: org.guid } } } }),
        ),
      );
      const domain = await eventually(async () => {
        const { resources } = await api.call<{ resources: { guid: string }[] }>("GET", "/v3/domains");
        expect(resources).not.toEqual([]);
        return resources[0];
      });
      await api.call("POST", "/v3/apps", { name: "shop", relationships: { space: { data: { guid: space?.guid } } } });
      await api.call("POST", "/v3/routes", {
        host: "shop",
        relationships: { space: { data: { guid: space?.guid } }, domain: { data: { guid: domain?.guid } } },
      });
    }, 180_000);
    afterAll(async () => {
      asking.halt.abort();
      await testEnv?.stop();
      await endpoint?.stop();
    }, 60_000);

    test("is not there without its operation", async () => {
      expect(await findConfiguration(testEnv.admin)).toBeUndefined();
      expect(await takenName()).toBeUndefined();
    });

    test("refuses names that are taken, and nothing else", async () => {
      await leaveAgedCertificates(testEnv.admin);
      await testEnv.startWebhooks();
      await eventually(async () => expect(await takenName()).toEqual(refusal));
      expect(await findRefusal(Org, { metadata: { name: "acme-2" }, spec: { name: "ACME" } })).toContain(
        "taken by another Org:",
      );
      expect(
        await findRefusal(Space, { metadata: { namespace: "acme", name: "dev-2" }, spec: { name: "Dev" } }),
      ).toContain("taken by another Space of this org:");
      await eventually(async () => expect(await takenDomain()).toContain("taken by another Domain:"));
      asking.over = keepAsking();
      expect((await testEnv.certificates()).previous).toBeUndefined();
      // From another space, where the route that bears it may not be seen: that it is taken is all that is said.
      const route = await findRefusal(Route, {
        metadata: { namespace: OTHER_SPACE, name: "mine" },
        spec: { host: "shop", domainRef: { name: "apps.example" } },
      });
      expect(route).toMatch(
        /denied the request: the name is taken by another Route: choose another one, or wait until that one is renamed or deleted$/,
      );
      expect([
        await findRefusal(App, appCalled("shop-2")),
        await findRefusal(App, { ...appCalled("shop"), metadata: { namespace: OTHER_SPACE, name: "other" } }),
      ]).toEqual([undefined, undefined]);
    }, 60_000);

    test("admits objects that hold their name, unchanged names, and the API's writes", async () => {
      const { admin, api } = testEnv;
      const [shop] = (await admin.list(App, { namespace: SPACE })).items;
      const key = { namespace: SPACE, name: shop?.metadata.name ?? "" };
      await admin.patch(App, key, { type: "merge", body: { metadata: { annotations: { edited: "yes" } } } });
      await admin.create(App, appCalled("kiosk", "kiosk"));
      await expect(
        admin.patch(App, { namespace: SPACE, name: "kiosk" }, { type: "merge", body: { spec: { name: "SHOP" } } }),
      ).rejects.toThrow(/taken by another App/);
      await admin.delete(App, { namespace: SPACE, name: "kiosk" });
      expect(
        await admin.create(App, appCalled("shop"), { dryRun: true, fieldManager: API_FIELD_MANAGER }),
      ).toMatchObject({ kind: "App" });
      // A name that is free again, at once.
      const {
        resources: [app],
      } = await api.call<{ resources: { guid: string; relationships: { space: object } }[] }>(
        "GET",
        "/v3/apps?names=shop",
      );
      await api.call("PATCH", `/v3/apps/${app?.guid}`, { name: "shop-old" });
      const again = await api.call("POST", "/v3/apps", {
        name: "shop",
        relationships: { space: app?.relationships.space },
      });
      expect(again).toMatchObject({ name: "shop" });
      await eventually(async () => expect(await takenName()).toEqual(refusal));
    }, 60_000);

    test("rotates its CA while it serves: every review is answered, and one of two replicas writes", async () => {
      const { admin, ports } = testEnv;
      try {
        const held = await eventually(async () => {
          const now = await testEnv.certificates();
          expect(now.previous).toBeDefined();
          return now;
        });
        for (const port of ports)
          await eventually(async () =>
            expect((await certificateAt(port, held.authority.cert)).trim()).toBe(held.serving.cert.trim()),
          );
        const configuration = await findConfiguration(admin);
        const bundle = Buffer.from(configuration?.webhooks?.[0]?.clientConfig.caBundle ?? "", "base64").toString();
        expect([bundle.includes(held.authority.cert), bundle.includes(held.previous?.cert ?? "none")]).toEqual([
          true,
          true,
        ]);
        // Whoever trusts the new authority only still finds it; and what was changed by hand comes back.
        const onlyNew = Buffer.from(held.authority.cert).toString("base64");
        await admin.patch(
          ValidatingWebhookConfiguration,
          { name: WEBHOOK_CONFIGURATION },
          { type: "json", body: [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: onlyNew }] },
        );
        await eventually(async () =>
          expect((await findConfiguration(admin))?.webhooks?.[0]?.clientConfig.caBundle).toBe(
            configuration?.webhooks?.[0]?.clientConfig.caBundle,
          ),
        );
        const then = asking.count;
        await eventually(() => expect(asking.count).toBeGreaterThan(then + 3));
      } finally {
        asking.halt.abort();
        await asking.over;
      }
      expect([...asking.answers]).toEqual([expect.stringContaining("taken by another Domain:")]);
      // It was prepared and promoted, each by one of the two.
      expect(testEnv.writes.filter((write) => write.includes("/secrets"))).toHaveLength(2);
    }, 90_000);

    test("is configured for our groups only, to be ignored when it does not answer", async () => {
      const webhooks = (await findConfiguration(testEnv.admin))?.webhooks ?? [];
      expect(webhooks).toMatchObject(
        ["names.cupola.dev", "policies.cupola.dev"].map((name) => ({
          name,
          failurePolicy: "Ignore",
          matchPolicy: "Equivalent",
          sideEffects: "None",
          timeoutSeconds: 2,
        })),
      );
      const rules = webhooks.flatMap((webhook) => webhook.rules ?? []);
      expect(
        rules.flatMap(({ apiGroups = [] }) => apiGroups).filter((group) => ![GROUP, WORKLOADS_GROUP].includes(group)),
      ).toEqual([]);
      expect(new Set(rules.flatMap(({ operations = [] }) => operations))).toEqual(new Set(["CREATE", "UPDATE"]));
    });

    test("its configuration goes with the role that an installation gave it", async () => {
      const { admin } = testEnv;
      await admin.delete(ClusterRole, { name: "cupola-webhook" }).catch(() => undefined);
      const role = await admin.create(ClusterRole, { metadata: { name: "cupola-webhook" }, rules: [] });
      await admin.delete(ValidatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION });
      await eventually(async () =>
        expect((await findConfiguration(admin))?.metadata.ownerReferences).toMatchObject([
          { kind: "ClusterRole", name: "cupola-webhook", uid: role.metadata.uid },
        ]),
      );
    });

    test("when every process is down, objects are made, edited and deleted, and nothing waits", async () => {
      const { admin } = testEnv;
      await testEnv.end();
      const key = { namespace: SPACE, name: "other" };
      const began = performance.now();
      await admin.create(App, appCalled("Shop"));
      await admin.patch(App, key, { type: "merge", body: { spec: { name: "shop-3" } } });
      await admin.delete(App, key);
      await admin.patch(
        Space,
        { namespace: "acme", name: "dev" },
        { type: "merge", body: { metadata: { annotations: { edited: "yes" } } } },
      );
      expect(performance.now() - began).toBeLessThan(4_000);
      expect(await findConfiguration(admin)).toBeDefined();
    });

    test("is asked about our kinds only", async () => {
      const { admin } = testEnv;
      const asked: string[] = [];
      const port = Number(new URL((await findConfiguration(admin))?.webhooks?.[0]?.clientConfig.url ?? "").port);
      const decide = async ({
        kind,
        operation,
        object,
      }: {
        kind: { group: string; kind: string };
        operation: string;
        object?: { metadata: { name: string } } | undefined;
      }) => {
        asked.push(`${operation} ${kind.kind}.${kind.group} ${object?.metadata.name}`);
        return ALLOWED;
      };
      const listener = await startAdmissionServer({
        host: "127.0.0.1",
        port,
        handlers: new Map([["/names", decide]]),
        deadlineMs: 1_000,
        log,
      });
      listener.setCertificate((await testEnv.certificates()).serving);
      try {
        const namespace = SPACE;
        await admin.create(ConfigMap, { metadata: { namespace, name: "some" }, data: {} });
        await admin.create(Namespace, { metadata: { name: "elsewhere" } });
        await admin.create(Role, { metadata: { namespace: "elsewhere", name: "some" }, rules: [] });
        await admin.create(App, appCalled("by-the-api", "by-the-api"), { fieldManager: API_FIELD_MANAGER });
        await admin.create(App, appCalled("by-hand", "by-hand"));
        await admin.delete(App, { namespace, name: "by-hand" });
        expect(asked).toEqual([`CREATE App.${GROUP} by-hand`]);
      } finally {
        await listener.close();
      }
    });
  });
}
