// Controllers on an API server: conditions, finalizers, selection, workers, and two processes at once.
import { describe, expect, it } from "vitest";
import { ConfigMap } from "../../../kube/api/builtin.ts";
import { type FinalizeResult, NotReady, Stalled, watch } from "../../../kube/controller/controller.ts";
import { condition, Depot, Gadget, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

import { gadgets } from "./gadget-controller.ts";

export function controllerLifecycleRows(scene: Scene): void {
  describe("the life of a controller's objects", () => {
    it("runs finalize before it removes the finalizer, and waits while finalize says so", async () => {
      let blocked = true;
      const calls: string[] = [];
      const draining: FinalizeResult = {
        ready: { status: "False", reason: "Draining", message: "still draining" },
        conditions: [{ type: "Extra", status: "False", reason: "Half", message: "" }],
        requeueAfterMs: 50,
      };
      const controller = gadgets({
        owns: [ConfigMap],
        finalizer: "machinery.example/clean-up",
        reconcile: () => ({}),
        finalize: ({ metadata }) => {
          calls.push(metadata.name);
          return blocked ? draining : undefined;
        },
      });
      await scene.gadget("final");
      await scene.run(controller);
      const made = await scene.ready("final");
      expect(made.metadata.finalizers).toEqual(["machinery.example/clean-up"]);
      await scene.client.delete(Gadget, { namespace: scene.ns, name: "final" });
      await eventually(async () => {
        const waiting = await scene.client.get(Gadget, { namespace: scene.ns, name: "final" });
        expect(condition(waiting)).toMatchObject({ status: "False", reason: "Draining" });
        expect(condition(waiting, "Extra")).toMatchObject({ reason: "Half" });
      });
      await eventually(() => expect(calls.length).toBeGreaterThan(2));
      blocked = false;
      await eventually(async () =>
        expect(await scene.client.find(Gadget, { namespace: scene.ns, name: "final" })).toBeUndefined(),
      );
    });

    it("reports NotReady, Stalled and faults in the condition, keeps the transition time, and is enqueued by index", async () => {
      const faults = { left: 2 };
      const controller = gadgets({
        owns: [],
        indexes: { target: ({ spec }) => (spec.target ? [spec.target] : []) },
        watches: [watch(Depot, ({ metadata }) => ({ target: metadata.name }))],
        reconcile: ({ spec }, { read }) => {
          if (spec.text === "stall") throw new Stalled("Impossible", "cannot be");
          if (spec.text === "fault" && faults.left-- > 0) throw new Error("secret detail");
          if (spec.target && !read.find(Depot, { name: spec.target }))
            throw new NotReady("DepotMissing", `no depot ${spec.target}`);
          return { conditions: [{ type: "Extra", status: "True", reason: "Fine", message: "" }] };
        },
      });
      const depot = `depot-${scene.ns}`;
      await scene.gadget("waits", { target: depot });
      await scene.gadget("stalls", { text: "stall" });
      await scene.gadget("faults", { text: "fault" });
      const running = await scene.run(controller);
      const notReady = await scene.ready("waits", "False");
      expect(condition(notReady)).toMatchObject({ reason: "DepotMissing", message: `no depot ${depot}` });
      expect(condition(await scene.ready("stalls", "False"))).toMatchObject({ reason: "Impossible" });
      const recovered = await scene.ready("faults");
      expect(condition(recovered, "Extra")).toMatchObject({ status: "True" });
      expect(running.writes.some((write) => write.includes("faults/status"))).toBe(true);

      await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "waits" },
        { type: "merge", body: { spec: { target: `${depot}-2` } } },
      );
      const still = await scene.ready("waits", "False");
      expect(condition(still)?.lastTransitionTime).toBe(condition(notReady)?.lastTransitionTime);
      await scene.client.create(Depot, { metadata: { name: `${depot}-2` } });
      await scene.ready("waits");
      expect(JSON.stringify(await scene.client.list(Gadget, { namespace: scene.ns }))).not.toContain("secret detail");
    });

    it("processes twelve keys at once, or as many as the controller defines", async () => {
      const most: Record<string, number> = {};
      const released = Promise.withResolvers<void>();
      const counting = (name: string, workers?: number) => {
        let now = 0;
        return gadgets({
          name,
          owns: [],
          writesStatus: false,
          ...(workers !== undefined && { workers }),
          reconcile: async () => {
            most[name] = Math.max(most[name] ?? 0, ++now);
            await released.promise;
            now--;
            return {};
          },
        });
      };
      await Promise.all(Array.from({ length: 14 }, (_, i) => scene.gadget(`at-once-${i}`)));
      const running = await scene.run(counting("usual"), counting("few", 2));
      await eventually(() => expect(most).toEqual({ usual: 12, few: 2 }));
      released.resolve();
      await running.idle();
      expect(most).toEqual({ usual: 12, few: 2 });
    });

    it("handles selected objects only, and cleans up an object that it no longer selects", async () => {
      const finalized: string[] = [];
      const controller = gadgets({
        owns: [ConfigMap],
        selects: ({ spec }) => spec.target === "mine",
        finalizer: "machinery.example/selected",
        finalize: ({ metadata }) => {
          finalized.push(metadata.name);
          return finalized.length > 1 ? undefined : { ready: { status: "False", reason: "Draining", message: "" } };
        },
        reconcile: ({ metadata }) => ({
          children: [
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-sel`, namespace: scene.ns } },
          ],
        }),
      });
      const running = await scene.run(controller);
      await scene.gadget("foreign", { target: "yours" });
      await scene.gadget("chosen", { target: "mine" });
      await scene.ready("chosen");
      await running.idle();
      expect(running.writes.filter((write) => write.includes("foreign"))).toEqual([]);
      await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "chosen" },
        { type: "merge", body: { spec: { target: "yours" } } },
      );
      await eventually(async () => {
        expect(await scene.client.find(ConfigMap, { namespace: scene.ns, name: "chosen-sel" })).toBeUndefined();
        expect(
          (await scene.client.get(Gadget, { namespace: scene.ns, name: "chosen" })).metadata.finalizers ?? [],
        ).toEqual([]);
      });
      expect(finalized, "it is asked again until it has nothing left to do").toEqual(["chosen", "chosen"]);
    });

    it("runs in two processes at once without conflicting writes", async () => {
      const [one, two] = await Promise.all([scene.run(gadgets()), scene.run(gadgets())]);
      await scene.gadget("twins", { text: "x" });
      await scene.ready("twins");
      await Promise.all([one.idle(), two.idle()]);
      one.forget();
      two.forget();
      const touched = await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "twins" },
        { type: "merge", body: { metadata: { annotations: { t: "1" } } } },
      );
      await Promise.all(
        [one, two].map(({ informers }) =>
          informers.store(Gadget).waitForVersion(touched.metadata.resourceVersion ?? "", 5_000),
        ),
      );
      await Promise.all([one.idle(), two.idle()]);
      expect([...one.writes, ...two.writes]).toEqual([]);
    });
  });
}
