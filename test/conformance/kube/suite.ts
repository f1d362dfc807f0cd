// The suite of kube/ on an API server: client, caches, controllers, leases. It runs unchanged on every server.
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  condition,
  connect,
  freshNamespace,
  Gadget,
  installKinds,
  type RunningControllers,
  type Scene,
  type Server,
  start,
} from "./harness.ts";
import { eventually } from "../../eventually.ts";
import { clientRows } from "./client-rows.ts";
import { controllerLifecycleRows } from "./controller-lifecycle-rows.ts";
import { controllerRows } from "./controller-rows.ts";
import { permissionRows } from "./permission-rows.ts";
import { registrarRows } from "./registrar-rows.ts";
import { leaderElectionRows } from "./leader-election-rows.ts";
import { membershipRows } from "./membership-rows.ts";
import { replicaRows } from "./replica-rows.ts";

export function controllerRuntimeTests(server: Server): void {
  describe(`kube/ on ${server.name}`, () => {
    let endpoint: Awaited<ReturnType<Server["start"]>>;
    let client: KubeClient;
    let ns: string;
    const running: RunningControllers[] = [];
    // Getters, since the server starts after the rows are declared.
    const scene: Scene = {
      get endpoint() {
        return endpoint;
      },
      get client() {
        return client;
      },
      get ns() {
        return ns;
      },
      async run(...controllers) {
        const started = start(endpoint, ...controllers);
        running.push(started);
        await started.synced;
        return started;
      },
      gadget: (name, spec = {}) => client.create(Gadget, { metadata: { name, namespace: ns }, spec: { ...spec } }),
      ready: (name, status = "True") =>
        eventually(async () => {
          const object = await client.get(Gadget, { namespace: ns, name });
          expect(condition(object)).toMatchObject({ status, observedGeneration: object.metadata.generation });
          return object;
        }),
    };

    beforeAll(async () => {
      endpoint = await server.start();
      client = connect(endpoint);
      await installKinds(client);
      ns = await freshNamespace(client);
    });
    afterEach(async () => {
      await Promise.all(running.splice(0).map((each) => each.stop()));
      for (const { metadata } of (await client.list(Gadget, { namespace: ns })).items) {
        await client.patch(Gadget, metadata, { type: "merge", body: { metadata: { finalizers: null } } });
        await client.delete(Gadget, metadata);
      }
    });
    afterAll(async () => {
      await client?.close();
      await endpoint?.stop();
    });

    clientRows(scene);
    controllerRows(scene);
    controllerLifecycleRows(scene);
    registrarRows(scene);
    permissionRows(scene);
    membershipRows(scene);
    leaderElectionRows(scene);
    replicaRows(scene);
  });
}
