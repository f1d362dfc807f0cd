// The classes deployment and ingress on a real control plane: from kubectl's App and Route to a Deployment, a Service and an Ingress, and back to nothing.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KpackBuildStatus } from "../../../backends/builders/kpack/kpack-build.ts";
import { hasEnded } from "../../../backends/builders/staging-status.ts";
import { ingressRouter } from "../../../backends/routers/ingress/ingress.ts";
import { deploymentRunner } from "../../../backends/runners/deployment/deployment.ts";
import { createInstanceIndex } from "../../../backends/runners/deployment/instance-index/instance-index.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { guidOf } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Route } from "../../../crds/route/route.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import {
  Deployment,
  Ingress,
  Namespace,
  Pod,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { applyKpackAPI } from "../../cluster/kpack-api.ts";
import {
  applyApp,
  currentLRP,
  makeSpace,
  readyOf,
  startTestEnv,
  untilReady,
  type TestEnv,
} from "../controllers/test-env.ts";
import { eventually } from "../../eventually.ts";
import { listKpackControllers, sayAsKpack, stage } from "./kpack-stagings.ts";

const reason = whyNoControlPlane();
const apply = { fieldManager: "kubectl" };

describe.skipIf(reason)("deployment and ingress on kube-apiserver", () => {
  let plane: ControlPlane;
  let world: TestEnv;
  let client: KubeClient;
  let namespace: string;
  const key = (name = "shop"): { namespace: string; name: string } => ({ namespace, name });
  const list = async (ref: ResourceRef): Promise<string[]> =>
    (await client.list(ref, { namespace })).items.map((object) => object.metadata.name);

  beforeAll(async () => {
    plane = await startControlPlane();
    await withAdmin(plane, applyKpackAPI);
    world = await startTestEnv(plane, {
      builder: "none",
      runner: "deployment",
      router: "ingress",
      controllers: [
        ...deploymentRunner(),
        ...createInstanceIndex({} as KubeClient).controllers,
        ...ingressRouter(),
        ...listKpackControllers(),
      ],
    });
    client = world.client;
    ({ namespace } = await makeSpace(client, "acme", "dev"));
    await applyApp(client, key(), { process: { instances: 2 } });
    for (const name of ["shop", "shop-too"]) {
      await client.apply(
        Route,
        {
          metadata: key(name),
          spec: { host: name, domainRef: { name: "apps.example" }, destinations: [{ app: "shop" }] },
        },
        apply,
      );
    }
  });
  afterAll(async () => {
    await world?.stop();
    await plane?.stop();
  });

  test("the classes publish their capabilities", async () => {
    const runner = await untilReady(client, BackendClass, { name: "deployment" });
    expect(runner.status?.capabilities).toMatchObject({ dropletKinds: "docker,cnb", rendering: "3" });
  });

  test("an LRP is a Deployment and a disruption budget, labelled by the contract", async () => {
    const lrp = await eventually(() => currentLRP(client, key()));
    const deployment = await eventually(() => client.get(Deployment, lrp.metadata));
    expect(deployment.spec).toMatchObject({
      replicas: 2,
      template: { spec: { schedulingGates: [{ name: "cupola.dev/index" }] } },
    });
    const app = await client.get(App, key());
    expect(deployment.metadata.labels).toMatchObject({
      [LABELS.app]: guidOf(app),
      [LABELS.processType]: "web",
      [LABELS.lrp]: lrp.metadata.name,
    });
    await eventually(() => client.get(PodDisruptionBudget, lrp.metadata));
    await eventually(async () => {
      const pods = (await client.list(Pod, { namespace })).items;
      expect(pods.map(({ metadata }) => metadata.labels?.[LABELS.instanceIndex]).toSorted()).toEqual(["0", "1"]);
      expect(pods.flatMap(({ spec }) => spec?.schedulingGates ?? [])).toEqual([]);
    });
  });

  test("its pods pass the restricted Pod Security standard", async () => {
    await client.create(Namespace, {
      metadata: { name: "restricted", labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
    const { metadata } = await currentLRP(client, key());
    const deployment = await client.get(Deployment, metadata);
    const pod = deployment.spec?.template;
    await eventually(() =>
      client.create(
        Pod,
        { metadata: { name: "trial", namespace: "restricted", labels: pod?.metadata?.labels }, spec: pod?.spec },
        { dryRun: true },
      ),
    );
    await expect(
      client.create(
        Pod,
        { metadata: { name: "trial", namespace: "restricted" }, spec: { containers: [{ name: "a", image: "b" }] } },
        { dryRun: true },
      ),
    ).rejects.toMatchObject({ code: 403 });
  });

  test("two routes are two Ingresses to one Service", async () => {
    await eventually(async () => expect(await list(Ingress)).toHaveLength(2));
    const [service] = await eventually(async () => {
      const names = await list(Service);
      expect(names).toHaveLength(1);
      return names;
    });
    const { items } = await client.list(Ingress, { namespace });
    expect(items.map((ingress) => ingress.spec?.rules?.[0]?.http?.paths[0]?.backend.service?.name)).toEqual([
      service,
      service,
    ]);
    expect(items.map((ingress) => ingress.spec?.rules?.[0]?.host).toSorted()).toEqual([
      "shop-too.apps.example",
      "shop.apps.example",
    ]);
  });

  test("a Service that is changed or deleted comes back", async () => {
    const [name = ""] = await list(Service);
    await client.patch(
      Service,
      { namespace, name },
      { type: "merge", body: { spec: { selector: { [LABELS.app]: "wrong" } } } },
    );
    const app = await client.get(App, key());
    await eventually(async () =>
      expect((await client.get(Service, { namespace, name })).spec?.selector?.[LABELS.app]).toBe(guidOf(app)),
    );
    await client.delete(Service, { namespace, name });
    await eventually(() => client.get(Service, { namespace, name }));
  });

  test("scaling writes the Deployment, and one instance needs no budget", async () => {
    const { metadata } = await currentLRP(client, key());
    await client.patch(Process, key("shop.web"), { type: "merge", body: { spec: { instances: 1 } } });
    await eventually(async () => expect((await client.get(Deployment, metadata)).spec?.replicas).toBe(1));
    await eventually(async () => expect(await list(PodDisruptionBudget)).toEqual([]));
  });

  test("a restart makes the new Deployment when the pods of the old one are gone", async () => {
    const { metadata } = await currentLRP(client, key());
    const hold = (finalizers: string[], name: string): Promise<unknown> =>
      client.patch(Pod, { namespace, name }, { type: "merge", body: { metadata: { finalizers } } });
    const [pod = ""] = await eventually(async () => {
      const pods = await list(Pod);
      expect(pods).toHaveLength(1);
      return pods;
    });
    await hold(["kubelet.example/containers"], pod);
    await client.patch(App, key(), { type: "merge", body: { spec: { restart: "again" } } });
    await eventually(async () =>
      expect((await client.get(Deployment, metadata)).metadata.deletionTimestamp).toBeDefined(),
    );
    await world.idle();
    expect(await list(LRP)).toEqual([metadata.name]);
    await hold([], pod);
    await eventually(async () => {
      const [lrp, ...others] = await list(LRP);
      expect([lrp === metadata.name, others]).toEqual([false, []]);
      expect(await list(Deployment)).toEqual([lrp]);
    }, 60_000);
  });

  test("a Staging of class kpack is a Build of kpack; what kpack says of it is the Staging's status", async () => {
    await client.create(BackendClass, {
      metadata: { name: "kpack" },
      spec: { role: "builder", parameters: { builderImage: "registry.example/builder:1" } },
    });
    await untilReady(client, BackendClass, { name: "kpack" });
    const at = (name: string): { namespace: string; name: string } => key(`kpack-${name}`);
    const succeeded = (status: string, more: object = {}) => ({
      conditions: [{ type: "Succeeded", status, ...more }],
    });
    const ended = (exitCode: number) => ({ terminated: { exitCode, finishedAt: "2026-11-22T08:00:00Z" } });
    const build = await stage(client, at("good"), 1);
    expect(build).toMatchObject({ metadata: { ownerReferences: [{ kind: "Staging", name: "kpack-good" }] } });
    expect(await list(ServiceAccount)).toContain("kpack-good-kpack");
    // kpack has not taken it up; then its pod waits for an image.
    const waiting = succeeded("Unknown", { reason: "ErrImagePull", message: "no route to the registry" });
    await sayAsKpack(client, at("good"), waiting, (staging) => readyOf(staging)?.reason === "ErrImagePull");
    const latestImage = `registry.example/cf/app@sha256:${"2".repeat(64)}`;
    const good = await sayAsKpack(client, at("good"), { ...succeeded("True"), latestImage }, hasEnded);
    expect(good.status).toMatchObject({
      state: "Succeeded",
      droplet: { kind: "cnb", image: latestImage, processTypes: { web: "node server.js" } },
    });
    await eventually(async () => expect(await list(ServiceAccount)).not.toContain("kpack-good-kpack"));
    const failures: [KpackBuildStatus, string][] = [
      [{ ...succeeded("False"), stepStates: [ended(0), ended(0), ended(20)] }, "NoAppDetectedError"],
      // A builder image that kpack's controller cannot use, before there is a pod.
      [succeeded("False", { message: "unable to fetch remote builder image" }), "StagingError"],
    ];
    for (const [number, [status, code]] of failures.entries()) {
      await stage(client, at(`bad-${number}`), number + 2);
      const bad = await sayAsKpack(client, at(`bad-${number}`), status, hasEnded);
      expect(bad.status).toMatchObject({ state: "Failed", error: { code } });
    }
    for (const name of await list(Staging)) if (name.startsWith("kpack-")) await client.delete(Staging, key(name));
  });

  test("an idle platform writes nothing", async () => {
    // No kubelet starts its pod, so the status says after some seconds that it starts.
    await eventually(async () => expect((await currentLRP(client, key())).status?.instances).toHaveLength(1));
    await world.idle();
    await delay(500);
    world.writes.length = 0;
    await delay(3000);
    expect(world.writes).toEqual([]);
  });

  test("without the route no Ingress and no Service, without the app no Deployment", async () => {
    await client.delete(Route, key("shop"));
    await eventually(async () => expect(await list(Ingress)).toHaveLength(1), 60_000);
    expect(await list(Service)).toHaveLength(1);
    await client.delete(Route, key("shop-too"));
    await eventually(async () => expect([await list(Ingress), await list(Service)]).toEqual([[], []]));
    await client.delete(App, key());
    await eventually(
      async () => expect([await list(LRP), await list(Deployment), await list(Pod)]).toEqual([[], [], []]),
      30_000,
    );
  }, 120_000);
});

async function withAdmin(plane: ControlPlane, act: (client: KubeClient) => Promise<void>): Promise<void> {
  const { url, ca, adminToken } = plane;
  const client = createClient({ server: url, ca, auth: { kind: "token", token: adminToken } });
  await act(client).finally(() => client.close());
}

if (reason) test.skip(`deployment and ingress: skipped, ${reason}`, () => undefined);
