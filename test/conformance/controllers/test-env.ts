// A cluster with our kinds, all controllers on it, and a person at the keyboard. The backends are played by the tests.
import { pino } from "pino";
import { OPEN_GATE } from "../../../controllers/shared/start-gate.ts";
import { createControllers } from "../../../controllers/controllers.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { Space } from "../../../crds/space/space.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { requestKind } from "../../../kube/testing/request-kind.ts";
import type { Controller } from "../../../kube/controller/controller.ts";
import type { Condition, KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { CONTROLLER_SETTINGS } from "../../../platform/operations/controller-settings.ts";
import { eventually } from "../../eventually.ts";

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
  restartControllers?(): Promise<void>;
}

export interface TestEnv {
  client: KubeClient;
  /** Writes of the controllers since the last `forget`, as `METHOD path code`. */
  writes: string[];
  /** Contents that the spaces have, as `space digest`. */
  contents: Set<string>;
  idle(): Promise<void>;
  /** Does it while no controller runs. */
  without(act: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

/** Shared state of the suite's parts: one platform, and a space in which they work. */
export interface ControllerFixtures {
  testEnv: TestEnv;
  client: KubeClient;
  /** The space's. */
  namespace: string;
  home: { org: Org; space: Space };
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

/** The classes marked as default, and the controllers that play them; names without a controller are played by the test. */
export interface Backends {
  builder: string;
  runner: string;
  router: string;
  controllers: readonly Controller[];
}

const FAKE_CLASSES: Backends = { builder: "builder", runner: "runner", router: "router", controllers: [] };

export async function startTestEnv(endpoint: Endpoint, backends: Backends = FAKE_CLASSES): Promise<TestEnv> {
  const connect = (onRequest?: Parameters<typeof createClient>[0]["onRequest"]): KubeClient =>
    createClient({
      server: endpoint.url,
      ca: endpoint.ca,
      auth: { kind: "token", token: endpoint.adminToken },
      fieldManager: "person",
      ...(onRequest && { onRequest }),
    });
  const client = connect();
  await installManifests(client);
  await endpoint.restartControllers?.();
  await applyObjects(client, fixtures(backends));
  const writes: string[] = [];
  const contents = new Set<string>();
  const own = connect(({ method, path, code }) => {
    if (requestKind({ method, path }) === "write") writes.push(`${method} ${path.split("?")[0]} ${code}`);
  });
  const run = async (): Promise<Running> => {
    const informers = createInformers({ client: own, log, freeze: true });
    const stopping = new AbortController();
    const controllers = [
      ...createControllers({
        apiURL: "http://api.example",
        startGate: OPEN_GATE,
        hasContent: (space, digest) => Promise.resolve(contents.has(`${space} ${digest}`)),
      }),
      ...backends.controllers,
    ];
    const running = runControllers({
      client: own,
      controllers,
      informers,
      ownership: CONTROLLER_SETTINGS,
      signal: stopping.signal,
      log,
    });
    await running.synced;
    return {
      idle: running.idle,
      async stop() {
        stopping.abort();
        await running.stopped;
        await informers.close();
      },
    };
  };
  let running = await run();
  return {
    client,
    writes,
    contents,
    idle: () => running.idle(),
    async without(act) {
      await running.stop();
      await act();
      running = await run();
    },
    async stop() {
      await running.stop();
      await own.close();
      await client.close();
    },
  };
}

type Running = Pick<TestEnv, "idle" | "stop">;

function fixtures({ builder, runner, router }: Backends): KubeObject[] {
  return [
    systemObject(BackendClass, builder, { role: "builder", default: true }),
    systemObject(BackendClass, runner, { role: "runner", default: true }),
    systemObject(BackendClass, router, { role: "router", default: true }),
    systemObject(Domain, "apps.example", { name: "apps.example" }),
  ];
}

type Conditioned = KubeObject & { status?: { conditions?: Condition[] } };

export function readyOf(object: KubeObject | undefined): Condition | undefined {
  return (object as Conditioned | undefined)?.status?.conditions?.find((condition) => condition.type === "Ready");
}

/** The object, once its Ready condition is about its present spec and has this status (and reason). */
export async function untilReady<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  key: ObjectKey,
  want: { status: string; reason?: string } = { status: "True" },
): Promise<T> {
  return await eventually(async () => {
    const object = await client.get(ref, key);
    const ready = readyOf(object);
    const seen = { status: ready?.status, ...(want.reason && { reason: ready?.reason }) };
    if (JSON.stringify(seen) !== JSON.stringify(want) || ready?.observedGeneration !== object.metadata.generation) {
      throw new Error(`${ref.kind} ${key.name} wants ${JSON.stringify(want)}, says ${JSON.stringify(ready)}`);
    }
    return object;
  });
}

/** An org and a space as kubectl makes them, and the space's namespace. */
export async function makeSpace(
  client: KubeClient,
  org: string,
  space: string,
): Promise<{ org: Org; space: Space; namespace: string }> {
  await client.apply(Org, { metadata: { name: org }, spec: {} }, { fieldManager: "kubectl" });
  const ready = await untilReady(client, Org, { name: org });
  const key = { namespace: ready.status?.namespace ?? "", name: space };
  await client.apply(Space, { metadata: key, spec: {} }, { fieldManager: "kubectl" });
  const made = await untilReady(client, Space, key);
  return { org: ready, space: made, namespace: made.status?.namespace ?? "" };
}

/** App, web process and an image droplet, as one kubectl apply. */
export async function applyApp(
  client: KubeClient,
  key: { namespace: string; name: string },
  given: { app?: object; process?: object } = {},
): Promise<void> {
  const { namespace, name } = key;
  const apply = { fieldManager: "kubectl" };
  await client.apply(
    Droplet,
    {
      metadata: { namespace, name: `${name}-droplet` },
      spec: {
        appRef: { name },
        kind: "docker",
        lifecycleType: "docker",
        image: "example.com/hello:1",
        processTypes: { web: "" },
      },
    },
    apply,
  );
  await client.apply(
    App,
    { metadata: key, spec: { state: "Started", droplet: { name: `${name}-droplet` }, ...given.app } },
    apply,
  );
  await client.apply(
    Process,
    {
      metadata: { namespace, name: `${name}.web` },
      spec: { appRef: { name }, type: "web", memoryMB: 128, ...given.process },
    },
    apply,
  );
}

/** The LRP that the process names, when there is one. */
export async function currentLRP(client: KubeClient, key: { namespace: string; name: string }): Promise<LRP> {
  const process = await client.get(Process, { namespace: key.namespace, name: `${key.name}.web` });
  if (!process.status?.lrp)
    throw new Error(`process ${key.name}.web names no LRP: ${JSON.stringify(readyOf(process))}`);
  return await client.get(LRP, { namespace: key.namespace, name: process.status.lrp });
}

/** Plays the runner: all instances run. */
export async function setRunning(client: KubeClient, lrp: LRP): Promise<void> {
  const instances = Array.from({ length: lrp.spec.instances }, (_, index) => ({
    index,
    state: "Running",
    ready: true,
  }));
  await client.patch(
    LRP,
    lrp.metadata,
    { type: "merge", body: { status: { runningInstances: lrp.spec.instances, instances } } },
    { subresource: "status" },
  );
}
