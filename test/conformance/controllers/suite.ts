// The controllers on an API server: from kubectl's objects to namespaces, rights, revisions, LRPs and bindings, and back to nothing.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Claim } from "../../../crds/claim/claim.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { appName, newClaim } from "../../../crds/claim/rules.ts";
import { guidOf, newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Org } from "../../../crds/org/org.ts";
import { Package } from "../../../crds/package/package.ts";
import { Process } from "../../../crds/process/process.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import { CF_ROLES, ORG_MANAGER_IN_SPACE } from "../../../crds/roles.ts";
import { Route } from "../../../crds/route/route.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Space } from "../../../crds/space/space.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Namespace, RoleBinding, Secret, SelfSubjectAccessReview } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { flagTests } from "./flags.ts";
import { routeTests } from "./routes.ts";
import {
  applyApp,
  currentLRP,
  eventually,
  makeSpace,
  setRunning,
  readyOf,
  startTestEnv,
  untilReady,
  type Endpoint,
  type TestEnv,
} from "./test-env.ts";

export interface Server {
  name: string;
  start(): Promise<Endpoint & { stop(): Promise<void> }>;
}

const apply = { fieldManager: "kubectl" };

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

    test("a role in a space opens the org and the space by name, and a manager's role every space of the org", async () => {
      const role = (name: string, at: string, clusterRole: string, user: string): Promise<unknown> =>
        client.apply(
          RoleBinding,
          {
            metadata: { name, namespace: at },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
            subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
          },
          apply,
        );
      await role("dev-of-alice", namespace, CF_ROLES.space_developer.clusterRole, "alice");
      await role("manager-bob", "acme", CF_ROLES.organization_manager.clusterRole, "bob");
      const may = async (user: string, attributes: object): Promise<boolean> => {
        const review = await client
          .as({ kind: "impersonate", user, groups: ["system:authenticated"] })
          .review(SelfSubjectAccessReview, { spec: { resourceAttributes: attributes } });
        return review.status?.allowed ?? false;
      };
      const org = { group: "cupola.dev", resource: "orgs", verb: "get", name: "acme" };
      const space = { group: "cupola.dev", resource: "spaces", verb: "get", name: "dev", namespace: "acme" };
      await eventually(async () => {
        expect(await may("alice", org)).toBe(true);
        expect(await may("alice", space)).toBe(true);
        expect(await may("bob", { ...org, verb: "update" })).toBe(true);
        expect(await may("bob", { group: "cupola.dev", resource: "apps", verb: "get", namespace })).toBe(true);
      });
      expect(await may("alice", { ...org, verb: "update" })).toBe(false);
      expect(await may("alice", { ...space, name: "other" })).toBe(false);
      expect(await may("carol", org)).toBe(false);

      await client.delete(RoleBinding, { name: "dev-of-alice", namespace });
      await client.delete(RoleBinding, { name: "manager-bob", namespace: "acme" });
      await eventually(async () => expect(await may("alice", org)).toBe(false));
      await eventually(async () =>
        expect(
          (await client.list(RoleBinding, { namespace })).items.filter(
            (binding) => binding.roleRef?.name === ORG_MANAGER_IN_SPACE,
          ),
        ).toEqual([]),
      );
    });

    test("App, Process and Route applied together run with the sizes applied, and a restart ends the old LRP before it makes a new one", async () => {
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
      expect(JSON.parse(env.get("VCAP_APPLICATION")?.value ?? "")).toMatchObject({
        application_name: "shop",
        space_name: "dev",
        organization_name: "acme",
        cf_api: "http://api.example",
      });
    }

    test("an App without a Process gets its web process; a Secret that is not allowed makes no Revision", async () => {
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
      await client.create(App, { metadata: { namespace, name: "one" }, spec: { name: "Twin" } });
      await untilReady(client, App, { namespace, name: "one" });
      await client.create(App, { metadata: { namespace, name: "two" }, spec: { name: "tWIN" } });
      await untilReady(client, App, { namespace, name: "two" }, { status: "False", reason: "NameTaken" });
      await client.delete(App, { namespace, name: "one" });
      await untilReady(client, App, { namespace, name: "two" });
    });

    routeTests(() => ({ testEnv, namespace }));

    test("a copied manifest does not steal a GUID", async () => {
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

    test("builds: an image at once, source by way of a Staging", async () => {
      await client.create(App, { metadata: { namespace, name: "built" }, spec: {} });
      const digest = `sha256:${"a".repeat(64)}`;
      await client.create(Package, {
        metadata: { namespace, name: "image" },
        spec: { appRef: { name: "built" }, type: "docker", image: "example.com/x:2" },
      });
      await client.create(Build, {
        metadata: { namespace, name: "image-build" },
        spec: { appRef: { name: "built" }, packageRef: { name: "image" } },
      });
      await untilReady(client, Build, { namespace, name: "image-build" });
      expect((await client.get(Droplet, { namespace, name: "image-build" })).spec).toMatchObject({
        kind: "docker",
        image: "example.com/x:2",
        processTypes: { web: "" },
      });

      await client.create(Package, {
        metadata: { namespace, name: "bits" },
        spec: { appRef: { name: "built" }, type: "bits", content: { digest, size: 1 } },
      });
      await untilReady(client, Package, { namespace, name: "bits" }, { status: "False", reason: "ContentMissing" });
      testEnv.contents.add(`${guidOf(home.space)} ${digest}`);
      await client.patch(
        Package,
        { namespace, name: "bits" },
        { type: "merge", body: { metadata: { annotations: { look: "now" } } } },
      );
      await client.create(Build, {
        metadata: { namespace, name: "bits-build" },
        spec: { appRef: { name: "built" }, packageRef: { name: "bits" } },
      });
      const staging = await eventually(() => client.get(Staging, { namespace, name: "bits-build" }));
      expect(staging.spec).toMatchObject({
        class: "builder",
        detect: true,
        package: { type: "bits", content: { digest } },
      });
      const droplet = {
        kind: "host",
        content: { digest, size: 1 },
        root: "/droplets/x",
        processTypes: { web: "node server.js", worker: "node worker.js" },
      };
      await client.patch(
        Staging,
        staging.metadata,
        { type: "merge", body: { status: { state: "Succeeded", droplet } } },
        { subresource: "status" },
      );
      await untilReady(client, Build, { namespace, name: "bits-build" });
      await untilReady(client, Droplet, { namespace, name: "bits-build" });
      await eventually(async () => expect(await client.find(Staging, staging.metadata)).toBeUndefined());

      await client.create(Build, {
        metadata: { namespace, name: "failing" },
        spec: { appRef: { name: "built" }, packageRef: { name: "bits" } },
      });
      await eventually(() => client.get(Staging, { namespace, name: "failing" }));
      await client.patch(
        Staging,
        { namespace, name: "failing" },
        {
          type: "merge",
          body: { status: { state: "Failed", error: { code: "NoAppDetectedError", message: "no buildpack fits" } } },
        },
        { subresource: "status" },
      );
      const failed = await untilReady(
        client,
        Build,
        { namespace, name: "failing" },
        { status: "False", reason: "StagingFailed" },
      );
      expect(failed.status).toMatchObject({
        state: "Failed",
        error: { code: "NoAppDetectedError", message: "no buildpack fits" },
      });
    });

    test("an app of the API costs one write of status for each object, and a start one write for each object it leads to", async () => {
      const [app, process] = [
        { namespace, name: "counted" },
        { namespace, name: "counted.web" },
      ];
      const guid = newGUID();
      const spec = { name: "Counted" };
      await testEnv.idle();
      testEnv.writes.length = 0;
      await client.create(
        Claim,
        newClaim(appName({ metadata: app, spec } as App), { kind: "App", ...app }, new Date()),
      );
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
      await untilReady(client, Process, process);
      await untilReady(client, Droplet, app);
      await testEnv.idle();
      // Apps of the tests before may get their web process now: it is waited for two seconds, and that is not counted as work.
      const own = (): string[] => testEnv.writes.splice(0).filter((line) => line.includes("counted"));
      const written = (): string[] =>
        own()
          .map((line) =>
            line
              .replace(/^PATCH .*v1alpha1\/namespaces\/[^/]+\//, "")
              .replace(/counted-(web-|1-)?[0-9a-f]{10}/, "<$1>"),
          )
          .toSorted();
      expect(written()).toEqual([
        "apps/counted/status 200",
        "droplets/counted/status 200",
        "processes/counted.web/status 200",
      ]);

      await client.patch(App, app, {
        type: "merge",
        body: { spec: { state: "Started", droplet: { name: "counted" } } },
      });
      await eventually(() => currentLRP(client, app));
      await testEnv.idle();
      expect(written()).toEqual([
        "apps/counted/status 200",
        "lrps/<web-> 201",
        "processes/counted.web/status 200",
        "revisions/<1-> 201",
        "revisions/<1->/status 200",
      ]);
    });

    test("two replicas at once make one of everything, and come to rest", async () => {
      const second = await startTestEnv(endpoint);
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

    flagTests(() => testEnv);

    test("an idle platform writes nothing", async () => {
      // Apps without a Process get theirs two seconds after their creation.
      const apps = (await client.list(App, { namespace })).items;
      for (const { metadata } of apps)
        await eventually(async () =>
          expect(readyOf(await client.get(Process, { namespace, name: `${metadata.name}.web` }))).toBeDefined(),
        );
      await testEnv.idle();
      await delay(500);
      testEnv.writes.length = 0;
      await delay(3000);
      expect(testEnv.writes).toEqual([]);
    });

    test("deleting an org takes its spaces, what is in them, their namespaces and their claims along", async () => {
      const doomed = await makeSpace(client, "doomed", "only");
      await applyApp(client, { namespace: doomed.namespace, name: "brief" });
      await eventually(() => currentLRP(client, { namespace: doomed.namespace, name: "brief" }));
      await client.delete(Org, { name: "doomed" });
      await eventually(async () => expect(await client.find(Org, { name: "doomed" })).toBeUndefined(), 60_000);
      expect(await client.find(Namespace, { name: doomed.namespace })).toBeUndefined();
      expect(await client.find(Namespace, { name: "doomed" })).toBeUndefined();
      await eventually(async () => {
        const remainingClaims = (await client.list(Claim)).items.filter((claim) =>
          JSON.stringify(claim.spec).includes("doomed"),
        );
        expect(remainingClaims).toEqual([]);
      });
    }, 90_000);

    test("who takes a name that is taken is suspended and loses rights all the same", async () => {
      const { org, namespace: inside } = await makeSpace(client, "renamed", "dev");
      const manager = { name: "manager-eve", namespace: "renamed" };
      await client.apply(
        RoleBinding,
        {
          metadata: manager,
          roleRef: {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "ClusterRole",
            name: CF_ROLES.organization_manager.clusterRole,
          },
          subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "eve" }],
        },
        apply,
      );
      const subjects = async (): Promise<unknown> =>
        (await client.list(RoleBinding, { namespace: inside })).items
          .filter(({ roleRef }) => roleRef.name === ORG_MANAGER_IN_SPACE)
          .flatMap((binding) => binding.subjects?.map(({ name }) => name));
      await eventually(async () => expect(await subjects()).toEqual(["eve"]));
      await client.patch(
        Space,
        { namespace: "renamed", name: "dev" },
        { type: "merge", body: { spec: { name: "other" } } },
      );
      await makeSpace(client, "renamed", "sibling");
      await client.patch(
        Space,
        { namespace: "renamed", name: "dev" },
        { type: "merge", body: { spec: { name: "sibling" } } },
      );
      await client.patch(Org, org.metadata, { type: "merge", body: { spec: { name: "acme" } } });
      await untilReady(client, Space, { namespace: "renamed", name: "dev" }, { status: "False", reason: "NameTaken" });
      await untilReady(client, Org, org.metadata, { status: "False", reason: "NameTaken" });
      expect((await client.get(Space, { namespace: "renamed", name: "dev" })).status?.name).toBe("other");

      await client.delete(RoleBinding, manager);
      await client.patch(Org, org.metadata, { type: "merge", body: { spec: { suspended: true } } });
      await eventually(async () => expect(await subjects()).toEqual([]));
      await eventually(async () =>
        expect((await client.get(Namespace, { name: "renamed" })).metadata.labels?.[LABELS.suspended]).toBe("org"),
      );
      await eventually(async () =>
        expect((await client.get(Namespace, { name: inside })).metadata.labels?.[LABELS.suspended]).toBe("org"),
      );
    }, 60_000);

    test("a namespace is adopted by consent only, and given back", async () => {
      await client.create(Namespace, { metadata: { name: "existing" } });
      const key = { namespace: "acme", name: "adopting" };
      await client.create(Space, { metadata: key, spec: { namespace: "existing" } });
      await untilReady(client, Space, key, { status: "False", reason: "NotConsented" });
      await client.patch(
        Namespace,
        { name: "existing" },
        { type: "merge", body: { metadata: { labels: { [LABELS.adoptableBy]: "acme" } } } },
      );
      await untilReady(client, Space, key);
      await client.delete(Space, key);
      await eventually(async () => expect(await client.find(Space, key)).toBeUndefined());
      const labels = (await client.get(Namespace, { name: "existing" })).metadata.labels ?? {};
      expect(Object.keys(labels).filter((label) => label.startsWith("cupola.dev/"))).toEqual([LABELS.adoptableBy]);
    });
  });
}
