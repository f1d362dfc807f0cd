// See, adjust and take over on a real control plane: a person's patch reaches the pods, and a hand-over restarts none.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deploymentRunner } from "../../../backends/runners/deployment/deployment.ts";
import { createInstanceIndex } from "../../../backends/runners/deployment/instance-index/instance-index.ts";
import { Adjustment } from "../../../crds/adjustment/adjustment.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Deployment, Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, makeSpace, startTestEnv, untilReady, type TestEnv } from "../controllers/test-env.ts";

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
});
