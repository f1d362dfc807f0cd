// Children of controllers on an API server: apply, repair, prune, and no write without a difference.
import { describe, expect, it } from "vitest";
import { ConfigMap, Deployment, RoleBinding, Secret, Service } from "../../../kube/api/builtin.ts";
import { defineController } from "../../../kube/controller/controller.ts";
import { condition, freshNamespace, Gadget, platform, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

import { gadgets } from "./gadget-controller.ts";

export function controllerRows(scene: Scene): void {
  describe("controllers", () => {
    it("applies children, writes status once, and a second run, a touch and a restart write nothing", async () => {
      await scene.gadget("quiet", { text: "hello" });
      const first = await scene.run(gadgets());
      const made = await scene.ready("quiet");
      expect(made.status).toMatchObject({ text: "hello", count: 3, observedGeneration: 1 });
      await first.idle();
      const kinds = first.writes
        .filter((write) => write.includes("quiet"))
        .map((write) => write.replace(/^.*\/(\w+)\/quiet/, "$1"))
        .sort();
      expect(kinds).toEqual([
        "configmaps-config 201",
        "deployments-deployment 201",
        "gadgets/status 200",
        "rolebindings-binding 201",
        "secrets-secret 201",
        "services-service 201",
      ]);
      const service = await scene.client.get(Service, { namespace: scene.ns, name: "quiet-service" });
      expect(service.metadata.ownerReferences).toMatchObject([
        { kind: "Gadget", name: "quiet", uid: made.metadata.uid, controller: true },
      ]);
      expect(service.metadata.labels).toMatchObject({
        [platform.ownerLabel]: made.metadata.uid,
        [platform.controllerLabel]: "gadget",
      });

      first.forget();
      const touched = await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "quiet" },
        { type: "merge", body: { metadata: { annotations: { touched: "1" } } } },
      );
      await first.informers.store(Gadget).waitForVersion(touched.metadata.resourceVersion ?? "", 5_000);
      await first.idle();
      expect(first.writes).toEqual([]);
      await first.stop();

      const second = await scene.run(gadgets());
      await second.idle();
      expect(second.writes.filter((write) => write.includes("quiet"))).toEqual([]);
    });

    it("repairs drift, leaves fields of others alone, removes children that are no longer desired", async () => {
      await scene.gadget("drift", { text: "a", items: ["http", "admin"], replicas: 2 });
      const running = await scene.run(gadgets());
      await scene.ready("drift");
      await running.idle();
      const at = (suffix: string) => ({ namespace: scene.ns, name: `drift-${suffix}` });
      await scene.client.patch(ConfigMap, at("config"), {
        type: "merge",
        body: { data: { text: "changed", foreign: "kept" } },
      });
      await scene.client.patch(Deployment, at("deployment"), { type: "merge", body: { spec: { replicas: 7 } } });
      await scene.client.patch(RoleBinding, at("binding"), {
        type: "json",
        body: [
          {
            op: "add",
            path: "/subjects/-",
            value: { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "intruder" },
          },
        ],
      });
      await scene.client.delete(Secret, at("secret"));
      await eventually(async () => {
        expect((await scene.client.get(ConfigMap, at("config"))).data).toEqual({
          text: "a",
          items: "http,admin",
          foreign: "kept",
        });
        expect((await scene.client.get(Deployment, at("deployment"))).spec?.replicas).toBe(2);
        expect((await scene.client.get(RoleBinding, at("binding"))).subjects).toHaveLength(1);
        expect((await scene.client.get(Secret, at("secret"))).data).toEqual({ password: "b3BlbnNlc2FtZQ==" });
      });
      await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "drift" },
        { type: "merge", body: { spec: { items: ["http"] } } },
      );
      await eventually(async () => {
        expect((await scene.client.get(Service, at("service"))).spec?.ports).toMatchObject([{ name: "http" }]);
        expect((await scene.client.get(ConfigMap, at("config"))).data).toEqual({
          text: "a",
          items: "http",
          foreign: "kept",
        });
      });
      await running.idle();
      running.forget();
      await scene.client.patch(ConfigMap, at("config"), {
        type: "merge",
        body: { metadata: { labels: { someone: "else" } } },
      });
      await running.idle();
      expect(running.writes).toEqual([]);
    });

    it("prunes undesired children, but never those of another controller", async () => {
      const one = gadgets({
        owns: [ConfigMap],
        reconcile: ({ metadata, spec }) => ({
          children: (spec.items ?? []).map((item) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: `${metadata.name}-${item}`, namespace: scene.ns },
          })),
        }),
      });
      const two = defineController<Gadget>({
        ...(one as never as object),
        name: "other",
        condition: "Other",
        for: Gadget,
        owns: [ConfigMap],
        reconcile: ({ metadata }) => ({
          children: [
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-other`, namespace: scene.ns } },
          ],
        }),
      });
      await scene.gadget("prune", { items: ["x", "y"] });
      const running = await scene.run(one, two);
      const names = async () =>
        (await scene.client.list(ConfigMap, { namespace: scene.ns })).items
          .map(({ metadata }) => metadata.name)
          .filter((name) => name.startsWith("prune-"))
          .sort();
      await eventually(async () => expect(await names()).toEqual(["prune-other", "prune-x", "prune-y"]));
      await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "prune" },
        { type: "merge", body: { spec: { items: ["y"] } } },
      );
      await eventually(async () => expect(await names()).toEqual(["prune-other", "prune-y"]));
      await running.idle();
      const object = await scene.ready("prune");
      expect(object.status?.conditions?.map(({ type }) => type).sort()).toEqual(["Other", "Ready"]);
    });

    it("a rejected child stops neither its siblings nor the pruning, and the condition gives the reason", async () => {
      const copies = gadgets({
        owns: [ConfigMap],
        reconcile: ({ metadata, spec }) => ({
          children: (spec.items ?? []).map((item) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: `${metadata.name}-${item}`, namespace: scene.ns },
          })),
        }),
      });
      await scene.gadget("refused", { items: ["x", "y"] });
      const running = await scene.run(copies);
      const names = async () =>
        (await scene.client.list(ConfigMap, { namespace: scene.ns })).items
          .map(({ metadata }) => metadata.name)
          .filter((name) => name.startsWith("refused-"))
          .sort();
      const want = (items: string[]) =>
        scene.client.patch(
          Gadget,
          { namespace: scene.ns, name: "refused" },
          { type: "merge", body: { spec: { items } } },
        );
      await eventually(async () => expect(await names()).toEqual(["refused-x", "refused-y"]));
      await want(["NO", "y", "z"]);
      await eventually(async () => expect(await names()).toEqual(["refused-y", "refused-z"]));
      const { reason, message } = condition(await scene.ready("refused", "False")) ?? {};
      expect([reason, message?.includes("refused-NO")]).toEqual(["Invalid", true]);
      await want(["z"]);
      await scene.ready("refused");
      await running.idle();
      expect(await names()).toEqual(["refused-z"]);
    });

    it("keepStatus writes no status, except for a child that another owner holds", async () => {
      const alone = gadgets({
        owns: [ConfigMap],
        reconcile: ({ metadata, spec }) => ({
          keepStatus: true,
          children: [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              metadata: { name: spec.target ?? metadata.name, namespace: scene.ns },
            },
          ],
        }),
      });
      await scene.gadget("silent-one", { target: "silently" });
      const running = await scene.run(alone);
      await eventually(() => scene.client.get(ConfigMap, { namespace: scene.ns, name: "silently" }));
      await scene.gadget("silent-two", { target: "silently" });
      expect(condition(await scene.ready("silent-two", "False"))?.reason).toBe("ChildTaken");
      await running.idle();
      expect((await scene.client.get(Gadget, { namespace: scene.ns, name: "silent-one" })).status).toBeUndefined();
    });

    it("deletes children in other namespaces with their owner, also after a deletion during downtime", async () => {
      const elsewhere = await freshNamespace(scene.client);
      const far = gadgets({
        owns: [ConfigMap],
        reconcile: ({ metadata }) => ({
          children: [
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `far-${metadata.name}`, namespace: elsewhere } },
          ],
        }),
      });
      await scene.gadget("goes");
      await scene.gadget("vanishes");
      const names = async () =>
        (await scene.client.list(ConfigMap, { namespace: elsewhere, labelSelector: platform.ownerLabel })).items
          .map(({ metadata }) => metadata.name)
          .sort();
      const first = await scene.run(far);
      await eventually(async () => expect(await names()).toEqual(["far-goes", "far-vanishes"]));
      await scene.client.delete(Gadget, { namespace: scene.ns, name: "goes" });
      await eventually(async () => expect(await names()).toEqual(["far-vanishes"]));
      await first.stop();
      await scene.client.delete(Gadget, { namespace: scene.ns, name: "vanishes" });
      await scene.run(far);
      await eventually(async () => expect(await names()).toEqual([]));
    });

    it.each(["createOnce", "create"] as const)(
      "stamps labels, makes %s objects once and keeps off them afterwards",
      async (list) => {
        const kept = `kept-${list.toLowerCase()}`;
        const controller = gadgets({
          owns: [],
          reads: [ConfigMap],
          reconcile: ({ metadata }) => ({
            labels: { "machinery.example/guid": metadata.uid },
            [list]: [
              {
                apiVersion: "v1",
                kind: "ConfigMap",
                metadata: { name: `${metadata.name}-once`, namespace: scene.ns },
                data: { a: "default" },
              },
            ],
          }),
        });
        await scene.client.create(ConfigMap, {
          metadata: { name: `${kept}-once`, namespace: scene.ns },
          data: { a: "person's" },
        });
        await scene.gadget(kept);
        const made = await scene.gadget(`made-${list.toLowerCase()}`);
        const running = await scene.run(controller);
        await scene.ready(kept);
        expect((await scene.ready(made.metadata.name)).metadata.labels).toEqual({
          "machinery.example/guid": made.metadata.uid,
        });
        await scene.client.patch(
          ConfigMap,
          { namespace: scene.ns, name: `${made.metadata.name}-once` },
          { type: "merge", body: { data: { a: "changed" } } },
        );
        await scene.client.patch(
          Gadget,
          { namespace: scene.ns, name: made.metadata.name },
          { type: "merge", body: { spec: { text: "again" } } },
        );
        await scene.ready(made.metadata.name);
        await running.idle();
        expect((await scene.client.get(ConfigMap, { namespace: scene.ns, name: `${kept}-once` })).data).toEqual({
          a: "person's",
        });
        expect(
          (await scene.client.get(ConfigMap, { namespace: scene.ns, name: `${made.metadata.name}-once` })).data,
        ).toEqual({
          a: "changed",
        });
      },
    );

    it("costs one write for each object, child and status, and none while idle", async () => {
      const controller = gadgets({
        owns: [ConfigMap],
        reconcile: ({ metadata }) => ({
          status: { done: true },
          children: [0, 1].map((at) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: `${metadata.name}-${at}`, namespace: scene.ns },
            data: { a: "1" },
          })),
        }),
      });
      const running = await scene.run(controller);
      await Promise.all(Array.from({ length: 30 }, (_, i) => scene.gadget(`many-${i}`)));
      await Promise.all(Array.from({ length: 30 }, (_, i) => scene.ready(`many-${i}`)));
      await running.idle();
      expect(running.writes.filter((write) => write.includes("many-"))).toHaveLength(90);
      running.forget();
      await scene.gadget("last");
      await scene.ready("last");
      await running.idle();
      expect(running.writes.filter((write) => !write.includes("last"))).toEqual([]);
    });
  });
}
