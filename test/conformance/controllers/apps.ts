// Apps: from an applied App to its LRPs, and what its names, environment and GUID rest on.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Claim } from "../../../crds/claim/claim.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { appName, newClaim } from "../../../crds/claim/rules.ts";
import { guidOf, newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import { Route } from "../../../crds/route/route.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Event, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { applyApp, currentLRP, setRunning, untilReady, type ControllerFixtures } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const apply = { fieldManager: "kubectl" };

/** Events as kubectl describe lists them: type and reason of the Events on the object of that name, in order. */
async function listEvents(client: KubeClient, { namespace, name }: ObjectKey): Promise<string[]> {
  const fieldSelector = `involvedObject.kind=App,involvedObject.name=${name}`;
  const { items } = await client.list(Event, { namespace, fieldSelector });
  return items.map((event) => `${event.type} ${event.reason}`).toSorted();
}

export function appTests(given: () => ControllerFixtures): void {
  test("App, Process and Route applied together run with the sizes applied, and a restart ends the old LRP before it makes a new one", async () => {
    const { client, namespace } = given();
    const key = { namespace, name: "shop" };
    await client.apply(
      Secret,
      {
        metadata: { name: "shared", namespace, labels: { [LABELS.envAllowed]: "allowed" } },
        stringData: { password: "hunter2-not-in-a-noun" },
      },
      apply,
    );
    await applyApp(client, key, {
      app: {
        env: [
          { name: "COLOR", value: "blue" },
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shared", key: "password" } } },
        ],
      },
      process: { instances: 2 },
    });
    await client.apply(
      Route,
      {
        metadata: { name: "shop", namespace },
        spec: { host: "shop", domainRef: { name: "apps.example" }, destinations: [{ app: "shop" }] },
      },
      apply,
    );

    const first = await eventually(() => currentLRP(client, key));
    expect(first.spec).toMatchObject({
      class: "runner",
      instances: 2,
      memoryMB: 128,
      ports: [8080],
      revision: "1",
      droplet: { kind: "docker", image: "example.com/hello:1" },
    });
    await expectEnvironment(first);

    await setRunning(client, first);
    const process = await untilReady(client, Process, { namespace, name: "shop.web" });
    expect(process.status).toMatchObject({ runningInstances: 2, lrp: first.metadata.name });
    expect(process.metadata.ownerReferences?.[0]).toMatchObject({ kind: "App", name: "shop" });
    const route = await untilReady(client, Route, key);
    expect(route.status?.url).toBe("shop.apps.example");
    const bindings = (await client.list(RouteBinding, { namespace })).items;
    expect(bindings.map((binding) => binding.spec)).toMatchObject([
      {
        class: "router",
        hostname: "shop.apps.example",
        destinations: [{ app: "shop", processType: "web", port: 8080 }],
      },
    ]);
    const app = await untilReady(client, App, key);
    expect(app.status).toMatchObject({ name: "shop", url: "shop.apps.example" });

    await client.patch(
      Process,
      { namespace, name: "shop.web" },
      { type: "merge", body: { spec: { instances: 1, memoryMB: 64 } } },
    );
    await eventually(async () =>
      expect((await client.get(LRP, first.metadata)).spec).toMatchObject({ instances: 1, memoryMB: 128 }),
    );

    await restartWhileStopping(first, key);
    const second = await eventually(async () => {
      const lrp = await currentLRP(client, key);
      expect(lrp.metadata.name).not.toBe(first.metadata.name);
      return lrp;
    });
    expect(second.spec).toMatchObject({ revision: "2", memoryMB: 64, instances: 1 });
    await setRunning(client, second);
    expect((await client.get(App, key)).status?.observedRestart).toBe("again");

    await client.patch(App, key, { type: "merge", body: { spec: { state: "Stopped" } } });
    await eventually(async () => expect((await client.list(LRP, { namespace })).items).toEqual([]));
    await untilReady(client, Process, { namespace, name: "shop.web" }, { status: "True", reason: "Stopped" });
    await client.patch(App, key, { type: "merge", body: { spec: { state: "Started" } } });
    const third = await eventually(() => currentLRP(client, key));
    expect(third.spec.revision, "nothing differs, so no new revision").toBe("2");
  });

  /** Restarts the app. A finalizer holds the old LRP, as a runner does while instances end: no other LRP is made until it goes. */
  async function restartWhileStopping(old: LRP, key: ObjectKey): Promise<void> {
    const { client, namespace } = given();
    const hold = (finalizers: string[]): Promise<unknown> =>
      client.patch(LRP, old.metadata, { type: "merge", body: { metadata: { finalizers } } });
    await hold(["runner.example/instances"]);
    await client.patch(App, key, { type: "merge", body: { spec: { restart: "again" } } });
    const processKey = { namespace, name: `${key.name}.web` };
    await untilReady(client, Process, processKey, { status: "False", reason: "Stopping" });
    const lrps = (await client.list(LRP, { namespace })).items.filter((lrp) => lrp.spec.app.name === key.name);
    expect(lrps.map((lrp) => [lrp.metadata.name, lrp.metadata.deletionTimestamp !== undefined])).toEqual([
      [old.metadata.name, true],
    ]);
    await hold([]);
  }

  /** Values of Secrets are in an immutable Secret only; the platform's variables are there. */
  async function expectEnvironment(lrp: LRP): Promise<void> {
    const { client, namespace } = given();
    const env = new Map(lrp.spec.env.map((variable) => [variable.name, variable]));
    expect(env.get("COLOR")).toMatchObject({ value: "blue" });
    const reference = env.get("PASSWORD")?.valueFrom?.secretKeyRef;
    const secret = await client.get(Secret, { namespace, name: reference?.name ?? "" });
    expect(secret).toMatchObject({
      immutable: true,
      data: { [reference?.key ?? ""]: Buffer.from("hunter2-not-in-a-noun").toString("base64") },
    });
    const kinds: readonly ResourceRef[] = [App, Process, Revision, LRP];
    const nouns = await Promise.all(kinds.map((ref) => client.list(ref, { namespace })));
    expect(JSON.stringify(nouns)).not.toContain("hunter2");
    await expectReadyRevisions();
    expect(JSON.parse(env.get("VCAP_APPLICATION")?.value ?? "")).toMatchObject({
      application_name: "shop",
      space_name: "dev",
      organization_name: "acme",
      cf_api: "http://api.example",
    });
  }

  /** Ready is a default of the CRD: nobody writes the status (docs/adr/0020). */
  async function expectReadyRevisions(): Promise<void> {
    const { client, namespace } = given();
    const revisions = (await client.list(Revision, { namespace })).items;
    expect(revisions).not.toEqual([]);
    for (const { metadata, status } of revisions) {
      expect(status).toMatchObject({ observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] });
      expect(metadata.managedFields?.map(({ subresource }) => subresource)).not.toContain("status");
    }
  }

  test("an App without a Process gets its web process; a Secret that is not allowed makes no Revision", async () => {
    const { client, namespace } = given();
    const key = { namespace, name: "lonely" };
    await client.apply(Secret, { metadata: { name: "private", namespace }, stringData: { key: "x" } }, apply);
    await client.apply(
      Droplet,
      {
        metadata: { namespace, name: "lonely-droplet" },
        spec: { appRef: { name: "lonely" }, kind: "docker", image: "example.com/hello:1" },
      },
      apply,
    );
    await client.apply(
      App,
      {
        metadata: key,
        spec: {
          state: "Started",
          droplet: { name: "lonely-droplet" },
          env: [{ name: "A", valueFrom: { secretKeyRef: { name: "private", key: "key" } } }],
        },
      },
      apply,
    );
    await untilReady(client, App, key, { status: "False", reason: "SecretNotAllowed" });
    const process = await client.get(Process, { namespace, name: "lonely.web" });
    expect(process.spec).toMatchObject({ appRef: { name: "lonely" }, type: "web" });
    expect(
      (await client.list(Revision, { namespace })).items.filter((revision) => revision.spec.appRef.name === "lonely"),
    ).toEqual([]);
    // Whoever applies the process later owns its fields without a conflict.
    await client.apply(
      Process,
      {
        metadata: { namespace, name: "lonely.web" },
        spec: { appRef: { name: "lonely" }, type: "web", memoryMB: 99 },
      },
      apply,
    );
    await untilReady(client, Process, { namespace, name: "lonely.web" }, { status: "False", reason: "NoRevision" });
    await client.patch(
      Secret,
      { namespace, name: "private" },
      { type: "merge", body: { metadata: { labels: { [LABELS.envAllowed]: "allowed" } } } },
    );
    expect((await eventually(() => currentLRP(client, key))).spec.memoryMB).toBe(99);
  });

  test("of two objects with one name the second waits until the first is gone", async () => {
    const { client, namespace } = given();
    await client.create(App, { metadata: { namespace, name: "one" }, spec: { name: "Twin" } });
    await untilReady(client, App, { namespace, name: "one" });
    await client.create(App, { metadata: { namespace, name: "two" }, spec: { name: "tWIN" } });
    await untilReady(client, App, { namespace, name: "two" }, { status: "False", reason: "NameTaken" });
    await client.delete(App, { namespace, name: "one" });
    await untilReady(client, App, { namespace, name: "two" });
    await eventually(async () =>
      expect(await listEvents(client, { namespace, name: "two" })).toEqual(["Normal Recovered", "Warning NameTaken"]),
    );
  });

  test("a copied manifest does not steal a GUID", async () => {
    const { client, namespace } = given();
    const original = await client.create(App, { metadata: { namespace, name: "original" }, spec: {} });
    await untilReady(client, App, { namespace, name: "original" });
    await delay(1100); // ages are in whole seconds
    await client.create(App, {
      metadata: { namespace, name: "copied", labels: { [LABELS.guid]: original.metadata.uid ?? "" } },
      spec: {},
    });
    const copy = await untilReady(client, App, { namespace, name: "copied" });
    expect(guidOf(copy)).toBe(copy.metadata.uid);
    expect(guidOf(await client.get(App, { namespace, name: "original" }))).toBe(original.metadata.uid);
  });

  test("an app of the API costs one write of status for each object but its process, and a start one write for each object it leads to", async () => {
    const { testEnv, client, namespace } = given();
    const [app, process] = [
      { namespace, name: "counted" },
      { namespace, name: "counted.web" },
    ];
    const guid = newGUID();
    const spec = { name: "Counted" };
    await testEnv.idle();
    testEnv.writes.length = 0;
    await client.create(Claim, newClaim(appName({ metadata: app, spec } as App), { kind: "App", ...app }, new Date()));
    const made = await client.create(App, { metadata: { ...app, labels: { [LABELS.guid]: guid } }, spec });
    const part = {
      labels: { [LABELS.app]: guid },
      ownerReferences: [{ apiVersion: made.apiVersion, kind: "App", name: "counted", uid: made.metadata.uid ?? "" }],
    };
    await client.create(Process, {
      metadata: { ...process, ...part },
      spec: { appRef: { name: "counted" }, type: "web" },
    });
    await client.create(Droplet, {
      metadata: { namespace, name: "counted", ...part, labels: { ...part.labels, [LABELS.guid]: newGUID() } },
      spec: { appRef: { name: "counted" }, kind: "docker", image: "example.com/x:1" },
    });
    await untilReady(client, App, app);
    await untilReady(client, Droplet, app);
    await testEnv.idle();
    // Apps of the tests before may get their web process now: it is waited for two seconds, and that is not counted as work.
    const own = (): string[] => testEnv.writes.splice(0).filter((line) => line.includes("counted"));
    const written = (): string[] =>
      own()
        .map((line) =>
          line.replace(/^PATCH .*v1alpha1\/namespaces\/[^/]+\//, "").replace(/counted-(web-|1-)?[0-9a-f]{10}/, "<$1>"),
        )
        .toSorted();
    expect(written()).toEqual(["apps/counted/status 200", "droplets/counted/status 200"]);

    await client.patch(App, app, {
      type: "merge",
      body: { spec: { state: "Started", droplet: { name: "counted" } } },
    });
    await eventually(() => currentLRP(client, app));
    await testEnv.idle();
    expect(written()).toEqual(["apps/counted/status 200", "lrps/<web-> 201", "processes/counted.web/status 200"]);
    // It is created by a POST, whose path has no name.
    expect((await client.list(Revision, { namespace, labelSelector: `${LABELS.app}=${guid}` })).items).toHaveLength(1);
  });
}
