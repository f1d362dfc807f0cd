// Client, stores and leader election on an API server.
import { describe, expect, it } from "vitest";
import { ClusterRole, ConfigMap, RoleBinding, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNoKind,
  isNotFound,
} from "../../../kube/client/errors.ts";
import { runLeaderElection } from "../../../kube/lease/leader-election.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { freshNamespace, Gadget, log, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

export function clientRows(scene: Scene): void {
  describe("client", () => {
    it("distinguishes errors", async () => {
      const draft = { metadata: { name: "errors", namespace: scene.ns }, data: { a: "1" } };
      const made = await scene.client.create(ConfigMap, draft);
      const caught = (work: Promise<unknown>) =>
        work.then(
          () => undefined,
          (error: unknown) => error,
        );
      expect(isAlreadyExists(await caught(scene.client.create(ConfigMap, draft)))).toBe(true);
      expect(
        isConflict(
          await caught(
            scene.client.update(ConfigMap, { ...made, metadata: { ...made.metadata, resourceVersion: "1" } }),
          ),
        ),
      ).toBe(true);
      expect(isNotFound(await caught(scene.client.get(ConfigMap, { namespace: scene.ns, name: "none" })))).toBe(true);
      expect(await scene.client.find(ConfigMap, { namespace: scene.ns, name: "none" })).toBeUndefined();
      expect(isNoKind(await caught(scene.client.list({ ...ConfigMap, group: "nowhere.example" })))).toBe(true);
      expect(
        isInvalid(
          await caught(
            scene.client.create(ConfigMap, { ...draft, metadata: { name: "Not Valid", namespace: scene.ns } }),
          ),
        ),
      ).toBe(true);
      expect(
        isForbidden(await caught(scene.client.as({ kind: "anonymous" }).list(Secret, { namespace: scene.ns }))),
      ).toBe(true);
      expect(
        await caught(
          scene.client.create(ConfigMap, { metadata: { name: "unknown", namespace: scene.ns }, nonsense: 1 }),
        ),
      ).toMatchObject({ code: 400 });
      const applied = scene.client.apply(ConfigMap, { ...draft, data: { a: "2" } }, { fieldManager: "other" });
      expect(isConflict(await caught(applied))).toBe(true);
    });

    it("authenticates as a token, a certificate or an impersonated user, never as itself too", async () => {
      const review = {
        ...Gadget,
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        namespaced: false,
      };
      const who = async (as: KubeClient) => (await as.review(review, {}))["status"];
      expect(await who(scene.client.as({ kind: "impersonate", user: "zoe", groups: ["g1", "g2"] }))).toMatchObject({
        userInfo: { username: "zoe", groups: expect.arrayContaining(["g1", "g2"]) },
      });
      if (!scene.endpoint.issueClient) return;
      const pair = await scene.endpoint.issueClient({ commonName: "carol", organizations: ["crew"] });
      const carol = scene.client.as({ kind: "certificate", ...pair });
      expect(await who(carol)).toMatchObject({
        userInfo: { username: "carol", groups: expect.arrayContaining(["crew"]) },
      });
      // An invalid token must not fall back to the original client's certificate.
      await expect(who(carol.as({ kind: "token", token: "wrong" }))).rejects.toMatchObject({ code: 401 });
    });

    it("pages lists, and a store holds all pages and waits for a version", async () => {
      const own = await freshNamespace(scene.client);
      await Promise.all(
        Array.from({ length: 23 }, (_, i) =>
          scene.client.create(ConfigMap, { metadata: { name: `c${i}`, namespace: own, labels: { own } } }),
        ),
      );
      expect(
        (await scene.client.list(ConfigMap, { namespace: own, labelSelector: `own=${own}`, limit: 10 })).items,
      ).toHaveLength(23);
      const informers = createInformers({ client: scene.client, log });
      const { store } = informers.ensure(ConfigMap, { labelSelector: `own=${own}` });
      expect(await informers.waitSynced(10_000)).toBe(true);
      expect(store.size).toBe(23);
      const written = await scene.client.patch(
        ConfigMap,
        { namespace: own, name: "c1" },
        { type: "merge", body: { data: { x: "y" } } },
      );
      expect(await store.waitForVersion(written.metadata.resourceVersion ?? "", 5_000)).toBe(true);
      expect(store.get({ namespace: own, name: "c1" })["data"]).toEqual({ x: "y" });
      await scene.client.delete(
        ConfigMap,
        { namespace: own, name: "c1" },
        { preconditions: { uid: written.metadata.uid ?? "" } },
      );
      expect(await store.waitDeleted(written.metadata.uid ?? "", 5_000)).toBe(true);
      await informers.close();
    });

    it("parks a watch without permission and resumes when it is granted", async () => {
      const user = `viewer-${scene.ns}`;
      const informers = createInformers({
        client: scene.client.as({ kind: "impersonate", user }),
        log,
        timing: { parked: { minMs: 50, maxMs: 200, jitter: 0 } },
      });
      const { store } = informers.ensure(ConfigMap, { namespace: scene.ns });
      await eventually(() => expect(store.parkReason).toBe("Forbidden"));
      await scene.client.apply(
        ClusterRole,
        {
          metadata: { name: "config-viewer" },
          rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }],
        },
        { fieldManager: "person", force: true },
      );
      await scene.client.create(RoleBinding, {
        metadata: { name: user, namespace: scene.ns },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "config-viewer" },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
      });
      expect(await store.waitSynced(10_000)).toBe(true);
      await informers.close();
    });
  });

  it("has one leader at a time, and a successor when it stops", async () => {
    const timing = { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, retryPeriodMs: 100, renewIntervalMs: 300 };
    const leading: string[] = [];
    let most = 0;
    const candidate = (identity: string) => {
      const stop = new AbortController();
      const done = runLeaderElection({
        client: scene.client,
        namespace: scene.ns,
        name: "lead",
        identity,
        timing,
        log,
        signal: stop.signal,
        onStartedLeading: async (signal, term) => {
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
}
