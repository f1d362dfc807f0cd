// See, adjust and take over on a real control plane: a person's patch reaches the pods, and a hand-over restarts none.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deploymentRunner } from "../../../backends/runners/deployment/deployment.ts";
import { createInstanceIndex } from "../../../backends/runners/deployment/instance-index/instance-index.ts";
import { Adjustment } from "../../../crds/adjustment/adjustment.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Space } from "../../../crds/space/space.ts";
import { Deployment, Pod, PodDisruptionBudget, Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import {
  applyApp,
  currentLRP,
  makeSpace,
  readyOf,
  startTestEnv,
  untilReady,
  type TestEnv,
} from "../controllers/test-env.ts";

const reason = whyNoControlPlane();
if (reason) console.log(`workloads: skipped, ${reason}`);
const apply = { fieldManager: "kubectl" };

describe.skipIf(reason)("workloads on kube-apiserver", () => {
  let plane: ControlPlane;
  let world: TestEnv;
  let client: KubeClient;
  let namespace: string;
  const key = (name: string): { namespace: string; name: string } => ({ namespace, name });
  const deploymentOf = async (app: string): Promise<ObjectOf<typeof Deployment>> =>
    client.get(Deployment, (await currentLRP(client, key(app))).metadata);
  const adjust = (name: string, patch: unknown): Promise<Adjustment> =>
    client.apply(
      Adjustment,
      {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Adjustment",
        metadata: key(name),
        spec: { processRef: { name }, patch },
      },
      { ...apply, force: true },
    );

  beforeAll(async () => {
    plane = await startControlPlane();
    world = await startTestEnv(plane, {
      builder: "none",
      runner: "deployment",
      router: "ingress",
      controllers: [...deploymentRunner(), ...createInstanceIndex({} as KubeClient).controllers],
    });
    client = world.client;
    ({ namespace } = await makeSpace(client, "acme", "dev"));
    await untilReady(client, BackendClass, { name: "deployment" });
  });
  afterAll(async () => {
    await world?.stop();
    await plane?.stop();
  });

  describe("a patch", () => {
    test("acts at the next start, and says so until then", async () => {
      await applyApp(client, key("shop"));
      const before = await eventually(() => deploymentOf("shop"));
      await adjust("shop.web", {
        metadata: { annotations: { note: "mine" } },
        spec: { nodeSelector: { disk: "ssd" }, tolerations: [{ key: "gpu", operator: "Exists" }] },
      });
      await untilReady(client, Adjustment, key("shop.web"), { status: "False", reason: "Pending" });
      await world.idle();
      expect((await deploymentOf("shop")).spec?.template).toEqual(before.spec?.template);

      await client.patch(App, key("shop"), { type: "merge", body: { spec: { restart: "again" } } });
      await untilReady(client, Adjustment, key("shop.web"), { status: "True", reason: "InForce" });
      const { spec } = await eventually(() => deploymentOf("shop"));
      expect(spec?.template).toMatchObject({
        metadata: { annotations: { note: "mine", "cupola.dev/app-name": "shop" } },
        spec: { nodeSelector: { disk: "ssd" }, schedulingGates: [{ name: "cupola.dev/index" }] },
      });
      expect(spec?.template.spec?.tolerations?.map((one) => one.key)).toEqual([
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "gpu",
      ]);
      await eventually(async () => {
        const pods = (await client.list(Pod, { namespace, labelSelector: `${LABELS.processType}=web` })).items;
        expect(pods.map((pod) => pod.spec?.nodeSelector)).toEqual([{ disk: "ssd" }]);
      });
    });

    test("that breaks what is the platform's is refused by the API server, in words", async () => {
      const image = { spec: { containers: [{ name: "application", image: "evil" }] } };
      await eventually(() =>
        expect(adjust("bad", image)).rejects.toThrow(/only resources\.requests\.cpu .* can be adjusted/),
      );
      await expect(adjust("bad", { spec: { hostNetwork: true } })).rejects.toThrow(/only these fields can be adjusted/);
      await expect(adjust("bad", { status: {} })).rejects.toThrow(/a patch has metadata and spec/);
      await expect(adjust("bad", { metadata: { finalizers: ["x"] } })).rejects.toThrow(/only labels and annotations/);
    });

    test("is bounded by the operator, who may change the fields at any time", async () => {
      const parameters = { "adjustments.allowed": "labels" };
      await client.patch(BackendClass, { name: "deployment" }, { type: "merge", body: { spec: { parameters } } });
      const refused = await untilReady(client, Adjustment, key("shop.web"), { status: "False", reason: "Refused" });
      expect(refused.status?.refused?.map(({ path }) => path)).toEqual([
        "metadata.annotations",
        "spec.nodeSelector",
        "spec.tolerations",
      ]);
      // The running pods stay as they are until the next start.
      expect((await deploymentOf("shop")).spec?.template.spec?.nodeSelector).toEqual({ disk: "ssd" });
      await client.patch(BackendClass, { name: "deployment" }, { type: "merge", body: { spec: { parameters: null } } });
      await untilReady(client, Adjustment, key("shop.web"), { status: "True", reason: "InForce" });
    });

    test("goes with its process, and an idle platform writes nothing", async () => {
      await world.idle();
      world.writes.length = 0;
      await world.idle();
      expect(world.writes).toEqual([]);
      await client.delete(App, key("shop"));
      await eventually(async () => expect(await client.find(Adjustment, key("shop.web"))).toBeUndefined());
    });
  });

  describe("a hand-over", () => {
    const processKey = (app: string): { namespace: string; name: string } => key(`${app}.web`);
    const setDetached = (app: string, detached: boolean): Promise<unknown> =>
      client.patch(Process, processKey(app), { type: "merge", body: { spec: { detached: detached ? true : null } } });
    const podsOf = async (lrp: string): Promise<ObjectOf<typeof Pod>[]> =>
      (await client.list(Pod, { namespace, labelSelector: `${LABELS.lrp}=${lrp}` })).items.filter(
        ({ metadata }) => !metadata.deletionTimestamp,
      );
    const uidsOf = async (lrp: string): Promise<string[]> =>
      (await podsOf(lrp)).map(({ metadata }) => metadata.uid ?? "").toSorted();

    /** An app with two instances that have their indexes. */
    async function startApp(name: string, app: object = {}): Promise<{ lrp: string; uids: string[] }> {
      await applyApp(client, key(name), { app, process: { instances: 2 } });
      const lrp = (await eventually(() => currentLRP(client, key(name)))).metadata.name;
      await eventually(async () => {
        const pods = await podsOf(lrp);
        expect(pods.map(({ metadata }) => metadata.labels?.[LABELS.instanceIndex]).toSorted()).toEqual(["0", "1"]);
      });
      return { lrp, uids: await uidsOf(lrp) };
    }

    function expectNoMarks({ metadata: { labels = {}, ownerReferences = [] } }: KubeObject): void {
      expect(ownerReferences).toEqual([]);
      expect(Object.keys(labels)).not.toContain(LABELS.managedBy);
      expect(Object.keys(labels)).not.toContain(LABELS.ownerUid);
      expect(Object.keys(labels)).toContain(LABELS.app);
    }

    function secretOf({ spec }: LRP): string {
      return spec.env.find(({ name }) => name === "PASSWORD")?.valueFrom?.secretKeyRef.name ?? "";
    }

    async function detach(app: string, lrp: string): Promise<void> {
      await setDetached(app, true);
      await untilReady(client, Process, processKey(app), { status: "True", reason: "Detached" });
      await eventually(async () => {
        const { metadata, spec } = await client.get(LRP, key(lrp));
        expect(metadata.finalizers ?? []).toEqual([]);
        expect(spec.detached).toBe(true);
      });
    }

    test("takes every mark off and replaces no pod; Cupola's deletions and restarts leave it alone, an autoscaler works on it", async () => {
      await client.create(Secret, {
        metadata: { ...key("password"), labels: { [LABELS.envAllowed]: "allowed" } },
        stringData: { value: "geheim" },
      });
      const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "password", key: "value" } } }];
      const { lrp, uids } = await startApp("own", { env });
      const before = await client.get(Deployment, key(lrp));
      await detach("own", lrp);

      const record = await client.get(LRP, key(lrp));
      const deployment = await client.get(Deployment, key(lrp));
      const budget = await client.get(PodDisruptionBudget, key(lrp));
      for (const object of [record, deployment, budget]) expectNoMarks(object);
      for (const { metadata } of [deployment, budget])
        expect(
          metadata.managedFields?.filter(({ manager }) => manager === "cupola-controller-deployment-runner"),
        ).toEqual([]);
      expect(deployment.spec).toEqual(before.spec);
      expect(await uidsOf(lrp)).toEqual(uids);

      // Scaling and restarting by the platform's doors change nothing of it.
      await expect(
        client.patch(Process, processKey("own"), { type: "merge", body: { spec: { instances: 5 } } }),
      ).rejects.toThrow(/the process is detached: scale its workload in Kubernetes/);
      await client.patch(App, key("own"), { type: "merge", body: { spec: { restart: "now" } } });
      await world.idle();
      expect(await uidsOf(lrp)).toEqual(uids);

      await client.raw("POST", `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`, {
        apiVersion: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: key("own"),
        spec: {
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: lrp },
          minReplicas: 3,
          maxReplicas: 4,
        },
      });
      // kube-controller-manager looks at autoscalers every 15 s.
      await eventually(async () => expect(await podsOf(lrp)).toHaveLength(3), 60_000);
      await eventually(async () => {
        const pods = await podsOf(lrp);
        expect(pods.map(({ metadata }) => metadata.labels?.[LABELS.instanceIndex]).toSorted()).toEqual(["0", "1", "2"]);
        expect((await client.get(LRP, key(lrp))).status?.instances?.map(({ index }) => index)).toEqual([0, 1, 2]);
      });
      const scaled = await uidsOf(lrp);
      expect(scaled).toEqual(expect.arrayContaining(uids));

      await client.delete(App, key("own"));
      await eventually(async () => expect(await client.find(Process, processKey("own"))).toBeUndefined());
      await eventually(async () => expect(await client.find(Droplet, key("own-droplet"))).toBeUndefined());
      // Another version of the platform begins with empty caches.
      await world.without(() => Promise.resolve());
      await world.idle();
      expect(await uidsOf(lrp)).toEqual(scaled);
      expect((await client.get(Secret, key(secretOf(record)))).metadata.ownerReferences).toBeUndefined();
      expect((await client.get(LRP, key(lrp))).spec.droplet.image).toBe("example.com/hello:1");
    }, 120_000);

    test("is taken back without a new pod, with the number of instances of the process", async () => {
      const { lrp, uids } = await startApp("back");
      await detach("back", lrp);
      await client.patch(Deployment, key(lrp), { type: "merge", body: { spec: { replicas: 3 } } });
      await eventually(async () => expect(await podsOf(lrp)).toHaveLength(3));

      // A detached workload costs an idle platform no write.
      await eventually(async () =>
        expect((await client.get(LRP, key(lrp))).status?.instances?.map(({ index }) => index)).toEqual([0, 1, 2]),
      );
      await world.idle();
      world.writes.length = 0;
      await world.idle();
      expect(world.writes).toEqual([]);

      await setDetached("back", false);
      await eventually(async () => {
        const { metadata, spec } = await client.get(Deployment, key(lrp));
        expect(metadata.ownerReferences).toMatchObject([{ kind: "LRP", name: lrp }]);
        expect(spec?.replicas).toBe(2);
      });
      await eventually(async () => expect(await uidsOf(lrp)).toEqual(uids));
      const record = await client.get(LRP, key(lrp));
      expect(record.metadata.ownerReferences).toMatchObject([{ kind: "Process", name: "back.web" }]);
      expect(record.metadata.finalizers).toEqual(["cupola.dev/runner-deployment"]);
      await client.delete(App, key("back"));
      await eventually(async () => expect(await client.find(Deployment, key(lrp))).toBeUndefined());
    });

    test("that ends after a restart leaves no pod of the old revision", async () => {
      const { lrp } = await startApp("late");
      await detach("late", lrp);
      await client.patch(App, key("late"), { type: "merge", body: { spec: { restart: "now" } } });
      await world.idle();
      await setDetached("late", false);
      await eventually(async () => {
        expect(await client.find(Deployment, key(lrp))).toBeUndefined();
        const next = await currentLRP(client, key("late"));
        expect(next.metadata.name).not.toBe(lrp);
        expect(await podsOf(next.metadata.name)).toHaveLength(2);
      });
      expect(await podsOf(lrp)).toEqual([]);
    });

    test("is what a deleted space waits for, in words", async () => {
      const place = await makeSpace(client, "acme", "leaving");
      const { namespace: own } = place;
      await applyApp(client, { namespace: own, name: "stays" });
      const { metadata } = await eventually(() => currentLRP(client, { namespace: own, name: "stays" }));
      await eventually(() => client.get(Deployment, metadata));
      await client.patch(
        Process,
        { namespace: own, name: "stays.web" },
        { type: "merge", body: { spec: { detached: true } } },
      );
      await untilReady(client, Process, { namespace: own, name: "stays.web" }, { status: "True", reason: "Detached" });
      await client.delete(Space, place.space.metadata);
      await eventually(async () => {
        const ready = readyOf(await client.get(Space, place.space.metadata));
        expect(ready).toMatchObject({ reason: "DetachedWorkloads", message: expect.stringContaining(metadata.name) });
      });
      expect(await client.find(Deployment, metadata)).toBeDefined();
      await client.delete(LRP, metadata);
      await eventually(async () => expect(await client.find(Space, place.space.metadata)).toBeUndefined());
    });
  });
});
