// The controllers on an API server: from kubectl's objects to namespaces, rights, revisions, LRPs and bindings, and back to nothing.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { guidOf } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import type { Space } from "../../../crds/space/space.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { appTests } from "./apps.ts";
import { buildTests } from "./builds.ts";
import { flagTests } from "./flags.ts";
import { handOverTests } from "./hand-over.ts";
import { routeTests } from "./routes.ts";
import { serviceBrokerTests } from "./service-brokers.ts";
import { spaceTests } from "./spaces.ts";
import {
  applyApp,
  currentLRP,
  makeSpace,
  setRunning,
  readyOf,
  startTestEnv,
  untilReady,
  type ControllerFixtures,
  type Endpoint,
  type TestEnv,
} from "./test-env.ts";
import { eventually } from "../../eventually.ts";

export interface Server {
  name: string;
  start(): Promise<Endpoint & { stop(): Promise<void> }>;
}

export function controllerTests(server: Server): void {
  describe(`controllers on ${server.name}`, () => {
    let endpoint: Awaited<ReturnType<Server["start"]>>;
    let testEnv: TestEnv;
    let client: KubeClient;
    let namespace: string;
    let home: { org: Org; space: Space };

    beforeAll(async () => {
      endpoint = await server.start();
      testEnv = await startTestEnv(endpoint);
      client = testEnv.client;
      const made = await makeSpace(client, "acme", "dev");
      home = made;
      namespace = made.namespace;
    });
    afterAll(async () => {
      await testEnv?.stop();
      await endpoint?.stop();
    });

    test("an org and a space of kubectl get GUID, claim and a labelled namespace", async () => {
      expect(home.org.metadata.labels?.[LABELS.guid]).toBe(home.org.metadata.uid);
      expect(namespace).toBe("acme-dev");
      const made = await client.get(Namespace, { name: namespace });
      expect(made.metadata.labels).toMatchObject({
        [LABELS.namespaceKind]: "space",
        [LABELS.space]: guidOf(home.space),
        [LABELS.org]: guidOf(home.org),
        [LABELS.ownerUid]: home.space.metadata.uid,
      });
    });

    const given = (): ControllerFixtures => ({ testEnv, client, namespace, home });
    spaceTests(given);
    appTests(given);
    handOverTests(given);
    routeTests(given);
    buildTests(given);
    flagTests(() => testEnv);
    serviceBrokerTests(given);

    test("two replicas at once make one of everything, and come to rest", async () => {
      const { url, ca, adminToken } = endpoint;
      const second = await startTestEnv({ url, ca, adminToken });
      try {
        const keys = Array.from({ length: 10 }, (_, at) => ({ namespace, name: `double-${at}` }));
        await Promise.all(keys.map((key) => applyApp(client, key)));
        for (const key of keys) await setRunning(client, await eventually(() => currentLRP(client, key)));
        await Promise.all(
          keys.map((key) => client.patch(App, key, { type: "merge", body: { spec: { restart: "x" } } })),
        );
        for (const key of keys) {
          const next = await eventually(async () => {
            const lrp = await currentLRP(client, key);
            expect(lrp.spec.revision).toBe("2");
            return lrp;
          });
          await setRunning(client, next);
        }
        for (const key of keys)
          await untilReady(
            client,
            Process,
            { namespace, name: `${key.name}.web` },
            { status: "True", reason: "Running" },
          );
        const mine = (ref: ResourceRef): Promise<number> =>
          client
            .list(ref, { namespace })
            .then(({ items }) => items.filter(({ metadata }) => metadata.name.startsWith("double-")).length);
        await eventually(async () => expect(await mine(LRP)).toBe(10));
        expect(await mine(Revision)).toBe(20);
        await Promise.all([testEnv.idle(), second.idle()]);
        await delay(1000);
        for (const each of [testEnv, second]) each.writes.length = 0;
        await delay(2000);
        expect([...testEnv.writes, ...second.writes]).toEqual([]);
      } finally {
        await second.stop();
      }
    });

    test("an idle platform writes nothing", async () => {
      // Apps without a Process get theirs two seconds after their creation.
      const apps = (await client.list(App, { namespace })).items;
      for (const { metadata, spec } of apps)
        await eventually(async () => {
          const process = await client.get(Process, { namespace, name: `${metadata.name}.web` });
          if (spec.state === "Started") expect(readyOf(process)).toBeDefined();
        });
      await testEnv.idle();
      await delay(500);
      testEnv.writes.length = 0;
      await delay(3000);
      expect(testEnv.writes).toEqual([]);
    });
  });
}
