// N equal replicas on an API server: no more writes than one, and none while idle.
import { describe, expect, it } from "vitest";
import { ConfigMap } from "../../../kube/api/builtin.ts";
import { defineController } from "../../../kube/controller/controller.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { Gadget, log, platform, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

const REPLICAS = 3;
const CHANGES = 20;

export function replicaRows(scene: Scene): void {
  describe("replicas", () => {
    it("write each change once, with at most one attempt per replica, and nothing while idle", async () => {
      const copying = () =>
        defineController<Gadget>({
          name: "copy",
          for: Gadget,
          owns: [ConfigMap],
          reconcile: ({ metadata, spec }) => ({
            status: { text: spec.text },
            children: [
              {
                apiVersion: "v1",
                kind: "ConfigMap",
                metadata: { name: `${metadata.name}-copy`, namespace: scene.ns },
                data: { text: spec.text },
              },
            ],
          }),
        });
      const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => scene.run(copying())));
      const seen = createInformers({ client: scene.client, log });
      const [gadgets, copies] = [
        seen.ensure(Gadget, { namespace: scene.ns }).store,
        seen.ensure(ConfigMap, { namespace: scene.ns, labelSelector: `${platform.controllerLabel}=copy` }).store,
      ];
      expect(await seen.waitSynced(10_000)).toBe(true);
      const changed = { gadgets: 0, copies: 0 };
      gadgets.onChange(() => changed.gadgets++);
      copies.onChange(() => changed.copies++);
      const names = Array.from({ length: CHANGES }, (_, i) => `budget-${i}`);
      const waitUntilStable = async () => {
        await Promise.all(names.map((name) => scene.ready(name)));
        await Promise.all(replicas.map((replica) => replica.idle()));
        const last = await scene.client.list(Gadget, { namespace: scene.ns });
        for (const store of [gadgets, ...replicas.map(({ informers }) => informers.store(Gadget))])
          await store.waitForVersion(
            last.items
              .map(({ metadata }) => metadata.resourceVersion ?? "0")
              .sort((a, b) => Number(b) - Number(a))[0] ?? "",
            10_000,
          );
        await Promise.all(replicas.map((replica) => replica.idle()));
      };
      await Promise.all(names.map((name) => scene.gadget(name, { text: "1" })));
      await waitUntilStable();
      await eventually(() => expect(changed).toEqual({ gadgets: 2 * CHANGES, copies: CHANGES }));
      await Promise.all(
        names.map((name) =>
          scene.client.patch(Gadget, { namespace: scene.ns, name }, { type: "merge", body: { spec: { text: "2" } } }),
        ),
      );
      await waitUntilStable();
      // Test and replicas: each object is created, changed by the test, and its status written twice.
      await eventually(() => expect(changed).toEqual({ gadgets: 4 * CHANGES, copies: 2 * CHANGES }));
      const attempts = replicas.flatMap(({ writes }) => writes).length;
      expect(attempts).toBeLessThanOrEqual(4 * CHANGES * REPLICAS);
      for (const replica of replicas) replica.forget();
      const touched = await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "budget-0" },
        { type: "merge", body: { metadata: { annotations: { by: "somebody" } } } },
      );
      for (const { informers } of replicas)
        expect(await informers.store(Gadget).waitForVersion(touched.metadata.resourceVersion ?? "", 10_000)).toBe(true);
      await Promise.all(replicas.map((replica) => replica.idle()));
      expect(replicas.flatMap(({ writes }) => writes)).toEqual([]);
      await seen.close();
    });
  });
}
