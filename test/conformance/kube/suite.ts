// The Kubernetes machinery on an API server: client, stores, controllers, leadership. Runs unchanged on every server that is given.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ClusterRole, ConfigMap, Deployment, RoleBinding, Secret, Service } from "../../../kube/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isForbidden, isInvalid, isNoKind, isNotFound } from "../../../kube/client/errors.ts";
import { type Controller, defineController, NotReady, Stalled, watch } from "../../../kube/controller.ts";
import { runLeader } from "../../../kube/leader.ts";
import { createWatches } from "../../../kube/watches.ts";
import { condition, connect, Depot, type Endpoint, eventually, freshNamespace, Gadget, installKinds, log, platform, type Running, start } from "./bench.ts";

export interface Server {
  name: string;
  start(): Promise<Endpoint & { stop(): Promise<void>; issueClient?(subject: { commonName: string; organizations?: string[] }): Promise<{ cert: string; key: string }> }>;
}

export function machineryOn(server: Server): void {
  describe(`kube machinery on ${server.name}`, () => {
    let endpoint: Awaited<ReturnType<Server["start"]>>;
    let client: KubeClient;
    let ns: string;
    const running: Running[] = [];
    const run = async (...controllers: Controller[]) => {
      const started = start(endpoint, ...controllers);
      running.push(started);
      await started.synced;
      return started;
    };
    const gadget = (name: string, spec: Gadget["spec"] = {}) => client.create(Gadget, { metadata: { name, namespace: ns }, spec: { ...spec } });
    const ready = (name: string, status = "True") => eventually(async () => {
      const object = await client.get(Gadget, { namespace: ns, name });
      expect(condition(object)).toMatchObject({ status, observedGeneration: object.metadata.generation });
      return object;
    });

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

    describe("client", () => {
      it("tells errors apart", async () => {
        const draft = { metadata: { name: "errors", namespace: ns }, data: { a: "1" } };
        const made = await client.create(ConfigMap, draft);
        const caught = (work: Promise<unknown>) => work.then(() => undefined, (error: unknown) => error);
        expect(isAlreadyExists(await caught(client.create(ConfigMap, draft)))).toBe(true);
        expect(isConflict(await caught(client.update(ConfigMap, { ...made, metadata: { ...made.metadata, resourceVersion: "1" } })))).toBe(true);
        expect(isNotFound(await caught(client.get(ConfigMap, { namespace: ns, name: "none" })))).toBe(true);
        expect(await client.find(ConfigMap, { namespace: ns, name: "none" })).toBeUndefined();
        expect(isNoKind(await caught(client.list({ ...ConfigMap, group: "nowhere.example" })))).toBe(true);
        expect(isInvalid(await caught(client.create(ConfigMap, { ...draft, metadata: { name: "Not Valid", namespace: ns } })))).toBe(true);
        expect(isForbidden(await caught(client.as({ kind: "anonymous" }).list(Secret, { namespace: ns })))).toBe(true);
        expect(await caught(client.create(ConfigMap, { metadata: { name: "unknown", namespace: ns }, nonsense: 1 }))).toMatchObject({ code: 400 });
        const applied = client.apply(ConfigMap, { ...draft, data: { a: "2" } }, { fieldManager: "other" });
        expect(isConflict(await caught(applied))).toBe(true);
      });

      it("speaks as a token, a certificate or an impersonated user, never as itself beside them", async () => {
        const review = { ...Gadget, group: "authentication.k8s.io", kind: "SelfSubjectReview", plural: "selfsubjectreviews", namespaced: false };
        const who = async (as: KubeClient) => (await as.review(review, {}))["status"];
        expect(await who(client.as({ kind: "impersonate", user: "zoe", groups: ["g1", "g2"] }))).toMatchObject({ userInfo: { username: "zoe", groups: expect.arrayContaining(["g1", "g2"]) } });
        if (!endpoint.issueClient) return;
        const pair = await endpoint.issueClient({ commonName: "carol", organizations: ["crew"] });
        const carol = client.as({ kind: "certificate", ...pair });
        expect(await who(carol)).toMatchObject({ userInfo: { username: "carol", groups: expect.arrayContaining(["crew"]) } });
        // A bad token must not fall back to the certificate of the connection it was derived from.
        await expect(who(carol.as({ kind: "token", token: "wrong" }))).rejects.toMatchObject({ code: 401 });
      });

      it("pages lists, and a store has them all and waits for a version", async () => {
        const own = await freshNamespace(client);
        await Promise.all(Array.from({ length: 23 }, (_, i) => client.create(ConfigMap, { metadata: { name: `c${i}`, namespace: own, labels: { own } } })));
        expect((await client.list(ConfigMap, { namespace: own, labelSelector: `own=${own}`, limit: 10 })).items).toHaveLength(23);
        const watches = createWatches({ client, log });
        const { store } = watches.ensure(ConfigMap, { labelSelector: `own=${own}` });
        expect(await watches.waitSynced(10_000)).toBe(true);
        expect(store.size).toBe(23);
        const written = await client.patch(ConfigMap, { namespace: own, name: "c1" }, { type: "merge", body: { data: { x: "y" } } });
        expect(await store.waitFor(written.metadata.resourceVersion ?? "", 5_000)).toBe(true);
        expect(store.get({ namespace: own, name: "c1" })["data"]).toEqual({ x: "y" });
        await client.delete(ConfigMap, { namespace: own, name: "c1" }, { preconditions: { uid: written.metadata.uid ?? "" } });
        expect(await store.waitGone(written.metadata.uid ?? "", 5_000)).toBe(true);
        await watches.close();
      });

      it("parks a watch without permission and resumes when it is granted", async () => {
        const user = `viewer-${ns}`;
        const watches = createWatches({ client: client.as({ kind: "impersonate", user }), log, timing: { parked: { minMs: 50, maxMs: 200, jitter: 0 } } });
        const { store } = watches.ensure(ConfigMap, { namespace: ns });
        await eventually(() => expect(store.parkReason).toBe("Forbidden"));
        await client.apply(ClusterRole, { metadata: { name: "config-viewer" }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }] }, { fieldManager: "person", force: true });
        await client.create(RoleBinding, { metadata: { name: user, namespace: ns }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "config-viewer" }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }] });
        expect(await store.waitSynced(10_000)).toBe(true);
        await watches.close();
      });
    });

    /** Children of every shape that an API server rewrites in its own way. */
    const plan = (name: string, spec: Gadget["spec"]): Draft[] => {
      const meta = (suffix: string) => ({ name: `${name}-${suffix}`, namespace: ns });
      const labels = { gadget: name };
      return [
        { apiVersion: "v1", kind: "ConfigMap", metadata: meta("config"), data: { text: spec.text ?? "", ...(spec.items?.length && { items: spec.items.join() }) } },
        { apiVersion: "v1", kind: "Secret", metadata: meta("secret"), stringData: { password: "opensesame" } },
        { apiVersion: "v1", kind: "Service", metadata: meta("service"), spec: { selector: labels, ports: (spec.items ?? ["http"]).map((item, at) => ({ name: item, port: 80 + at, targetPort: 8080 + at })) } },
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: meta("binding"), roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name }] },
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { ...meta("deployment"), annotations: {} },
          spec: {
            replicas: spec.replicas ?? 1,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: {
                volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1024Mi" } }],
                containers: [{
                  name: "main",
                  image: "example.invalid/app:1",
                  ports: [{ containerPort: 8080 }],
                  env: [{ name: "A", value: "1" }, { name: "EMPTY", value: "" }],
                  resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { memory: "1024Mi" } },
                  volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
                  securityContext: { capabilities: { drop: ["ALL"] } },
                }],
              },
            },
          },
        },
      ];
    };
    const owns = [ConfigMap, Secret, Service, RoleBinding, Deployment];
    const gadgets = (more: Partial<Parameters<typeof defineController<Gadget>>[0]> = {}) => defineController<Gadget>({
      name: "gadget",
      for: Gadget,
      owns,
      reconcile: (object) => ({ children: plan(object.metadata.name, object.spec), status: { text: object.spec.text, count: 3 } }),
      ...more,
    });

    describe("controllers", () => {
      it("applies children, writes status once, and a second run, a touch and a restart write nothing", async () => {
        await gadget("quiet", { text: "hello" });
        const first = await run(gadgets());
        const made = await ready("quiet");
        expect(made.status).toMatchObject({ text: "hello", count: 3, observedGeneration: 1 });
        await first.idle();
        const kinds = first.writes.filter((write) => write.includes("quiet")).map((write) => write.replace(/^.*\/(\w+)\/quiet/, "$1")).sort();
        expect(kinds).toEqual(["configmaps-config 201", "deployments-deployment 201", "gadgets/status 200", "rolebindings-binding 201", "secrets-secret 201", "services-service 201"]);
        const service = await client.get(Service, { namespace: ns, name: "quiet-service" });
        expect(service.metadata.ownerReferences).toMatchObject([{ kind: "Gadget", name: "quiet", uid: made.metadata.uid, controller: true }]);
        expect(service.metadata.labels).toMatchObject({ [platform.ownerLabel]: made.metadata.uid, [platform.controllerLabel]: "gadget" });

        first.forget();
        const touched = await client.patch(Gadget, { namespace: ns, name: "quiet" }, { type: "merge", body: { metadata: { annotations: { touched: "1" } } } });
        await first.watches.store(Gadget).waitFor(touched.metadata.resourceVersion ?? "", 5_000);
        await first.idle();
        expect(first.writes).toEqual([]);
        await first.stop();

        const second = await run(gadgets());
        await second.idle();
        expect(second.writes.filter((write) => write.includes("quiet"))).toEqual([]);
      });

      it("repairs what drifts, leaves alone what others add, removes what is not planned any more", async () => {
        await gadget("drift", { text: "a", items: ["http", "admin"], replicas: 2 });
        const running = await run(gadgets());
        await ready("drift");
        await running.idle();
        const at = (suffix: string) => ({ namespace: ns, name: `drift-${suffix}` });
        await client.patch(ConfigMap, at("config"), { type: "merge", body: { data: { text: "changed", foreign: "kept" } } });
        await client.patch(Deployment, at("deployment"), { type: "merge", body: { spec: { replicas: 7 } } });
        await client.patch(RoleBinding, at("binding"), { type: "json", body: [{ op: "add", path: "/subjects/-", value: { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "intruder" } }] });
        await client.delete(Secret, at("secret"));
        await eventually(async () => {
          expect((await client.get(ConfigMap, at("config"))).data).toEqual({ text: "a", items: "http,admin", foreign: "kept" });
          expect((await client.get(Deployment, at("deployment"))).spec?.replicas).toBe(2);
          expect((await client.get(RoleBinding, at("binding"))).subjects).toHaveLength(1);
          expect((await client.get(Secret, at("secret"))).data).toEqual({ password: "b3BlbnNlc2FtZQ==" });
        });
        await client.patch(Gadget, { namespace: ns, name: "drift" }, { type: "merge", body: { spec: { items: ["http"] } } });
        await eventually(async () => {
          expect((await client.get(Service, at("service"))).spec?.ports).toMatchObject([{ name: "http" }]);
          expect((await client.get(ConfigMap, at("config"))).data).toEqual({ text: "a", items: "http", foreign: "kept" });
        });
        await running.idle();
        running.forget();
        await client.patch(ConfigMap, at("config"), { type: "merge", body: { metadata: { labels: { someone: "else" } } } });
        await running.idle();
        expect(running.writes).toEqual([]);
      });

      it("prunes children that are not named, and never those of another controller", async () => {
        const one = gadgets({ owns: [ConfigMap], reconcile: ({ metadata, spec }) => ({ children: (spec.items ?? []).map((item) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-${item}`, namespace: ns } })) }) });
        const two = defineController<Gadget>({ ...(one as never as object), name: "other", condition: "Other", for: Gadget, owns: [ConfigMap], reconcile: ({ metadata }) => ({ children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-other`, namespace: ns } }] }) });
        await gadget("prune", { items: ["x", "y"] });
        const running = await run(one, two);
        const names = async () => (await client.list(ConfigMap, { namespace: ns })).items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("prune-")).sort();
        await eventually(async () => expect(await names()).toEqual(["prune-other", "prune-x", "prune-y"]));
        await client.patch(Gadget, { namespace: ns, name: "prune" }, { type: "merge", body: { spec: { items: ["y"] } } });
        await eventually(async () => expect(await names()).toEqual(["prune-other", "prune-y"]));
        await running.idle();
        const object = await ready("prune");
        expect(object.status?.conditions?.map(({ type }) => type).sort()).toEqual(["Other", "Ready"]);
      });

      it("removes children elsewhere when their owner is gone, also when that happened while nobody was looking", async () => {
        const elsewhere = await freshNamespace(client);
        const far = gadgets({ owns: [ConfigMap], reconcile: ({ metadata }) => ({ children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `far-${metadata.name}`, namespace: elsewhere } }] }) });
        await gadget("goes");
        await gadget("vanishes");
        const names = async () => (await client.list(ConfigMap, { namespace: elsewhere, labelSelector: platform.ownerLabel })).items.map(({ metadata }) => metadata.name).sort();
        const first = await run(far);
        await eventually(async () => expect(await names()).toEqual(["far-goes", "far-vanishes"]));
        await client.delete(Gadget, { namespace: ns, name: "goes" });
        await eventually(async () => expect(await names()).toEqual(["far-vanishes"]));
        await first.stop();
        await client.delete(Gadget, { namespace: ns, name: "vanishes" });
        await run(far);
        await eventually(async () => expect(await names()).toEqual([]));
      });

      it("finalizes before it lets go, waiting as long as finalize says so", async () => {
        let blocked = true;
        const calls: string[] = [];
        const controller = gadgets({
          owns: [ConfigMap],
          finalizer: "machinery.example/clean-up",
          reconcile: () => ({}),
          finalize: ({ metadata }) => {
            calls.push(metadata.name);
            if (blocked) throw new NotReady("Draining", "still draining", { requeueAfterMs: 50 });
          },
        });
        await gadget("final");
        await run(controller);
        const made = await ready("final");
        expect(made.metadata.finalizers).toEqual(["machinery.example/clean-up"]);
        await client.delete(Gadget, { namespace: ns, name: "final" });
        await eventually(async () => expect(condition(await client.get(Gadget, { namespace: ns, name: "final" }))).toMatchObject({ status: "False", reason: "Draining" }));
        await eventually(() => expect(calls.length).toBeGreaterThan(2));
        blocked = false;
        await eventually(async () => expect(await client.find(Gadget, { namespace: ns, name: "final" })).toBeUndefined());
      });

      it("says NotReady, Stalled and faults in the condition, keeps the transition time, and is woken by index", async () => {
        const faults = { left: 2 };
        const controller = gadgets({
          owns: [],
          indexes: { target: ({ spec }) => (spec.target ? [spec.target] : []) },
          watches: [watch(Depot, ({ metadata }) => ({ target: metadata.name }))],
          reconcile: ({ spec }, { read }) => {
            if (spec.text === "stall") throw new Stalled("Impossible", "cannot be");
            if (spec.text === "fault" && faults.left-- > 0) throw new Error("secret detail");
            if (spec.target && !read.find(Depot, { name: spec.target })) throw new NotReady("DepotMissing", `no depot ${spec.target}`);
            return { conditions: [{ type: "Extra", status: "True", reason: "Fine", message: "" }] };
          },
        });
        const depot = `depot-${ns}`;
        await gadget("waits", { target: depot });
        await gadget("stalls", { text: "stall" });
        await gadget("faults", { text: "fault" });
        const running = await run(controller);
        const waiting = await ready("waits", "False");
        expect(condition(waiting)).toMatchObject({ reason: "DepotMissing", message: `no depot ${depot}` });
        expect(condition(await ready("stalls", "False"))).toMatchObject({ reason: "Impossible" });
        const recovered = await ready("faults");
        expect(condition(recovered, "Extra")).toMatchObject({ status: "True" });
        expect(running.writes.some((write) => write.includes("faults/status"))).toBe(true);

        await client.patch(Gadget, { namespace: ns, name: "waits" }, { type: "merge", body: { spec: { target: `${depot}-2` } } });
        const still = await ready("waits", "False");
        expect(condition(still)?.lastTransitionTime).toBe(condition(waiting)?.lastTransitionTime);
        await client.create(Depot, { metadata: { name: `${depot}-2` } });
        await ready("waits");
        expect(JSON.stringify(await client.list(Gadget, { namespace: ns }))).not.toContain("secret detail");
      });

      it("stamps labels, makes createOnce objects once and keeps off them afterwards", async () => {
        const controller = gadgets({
          owns: [],
          reads: [ConfigMap],
          reconcile: ({ metadata }) => ({
            labels: { "machinery.example/guid": metadata.uid },
            createOnce: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-once`, namespace: ns }, data: { a: "default" } }],
          }),
        });
        await client.create(ConfigMap, { metadata: { name: "kept-once", namespace: ns }, data: { a: "person's" } });
        await gadget("kept");
        const made = await gadget("made");
        const running = await run(controller);
        await ready("kept");
        expect((await ready("made")).metadata.labels).toEqual({ "machinery.example/guid": made.metadata.uid });
        await client.patch(ConfigMap, { namespace: ns, name: "made-once" }, { type: "merge", body: { data: { a: "changed" } } });
        await client.patch(Gadget, { namespace: ns, name: "made" }, { type: "merge", body: { spec: { text: "again" } } });
        await ready("made");
        await running.idle();
        expect((await client.get(ConfigMap, { namespace: ns, name: "kept-once" })).data).toEqual({ a: "person's" });
        expect((await client.get(ConfigMap, { namespace: ns, name: "made-once" })).data).toEqual({ a: "changed" });
      });

      it("works in two processes at once without fighting", async () => {
        const [one, two] = await Promise.all([run(gadgets()), run(gadgets())]);
        await gadget("twins", { text: "x" });
        await ready("twins");
        await Promise.all([one.idle(), two.idle()]);
        one.forget();
        two.forget();
        const touched = await client.patch(Gadget, { namespace: ns, name: "twins" }, { type: "merge", body: { metadata: { annotations: { t: "1" } } } });
        await Promise.all([one, two].map(({ watches }) => watches.store(Gadget).waitFor(touched.metadata.resourceVersion ?? "", 5_000)));
        await Promise.all([one.idle(), two.idle()]);
        expect([...one.writes, ...two.writes]).toEqual([]);
      });
    });

    it("has one leader at a time, and the next one when it goes", async () => {
      const timing = { leaseMs: 1_500, renewMs: 1_000, retryMs: 100 };
      const leading: string[] = [];
      let most = 0;
      const candidate = (identity: string) => {
        const stop = new AbortController();
        const done = runLeader({
          client, namespace: ns, name: "lead", identity, timing, log, signal: stop.signal,
          lead: async (signal, term) => {
            leading.push(`${identity} ${term.transitions}`);
            most = Math.max(most, ++holders);
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
            holders--;
          },
        });
        return { stop: () => (stop.abort(), done) };
      };
      let holders = 0;
      const a = candidate("a");
      await eventually(() => expect(leading).toEqual(["a 0"]));
      const b = candidate("b");
      await a.stop();
      await eventually(() => expect(leading).toEqual(["a 0", "b 1"]));
      expect(most).toBe(1);
      await b.stop();
    });
  });
}
