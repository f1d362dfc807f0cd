// Membership on an API server: joining, leaving, expiry and eviction.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Lease } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { joinMembership, type Membership } from "../../../kube/lease/membership.ts";
import type { MembershipOptions } from "../../../kube/lease/member.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { log, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

export const GROUP_LABEL = "machinery.example/replicas";
/** Short enough for a test, with room for a slow machine. */
export const MEMBERSHIP_TEST_TIMING = { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, renewIntervalMs: 250 };

export function membershipRows(scene: Scene): void {
  describe("membership", () => {
    const memberships: { membership: Membership; close(): Promise<void> }[] = [];
    afterEach(async () => {
      await Promise.all(memberships.splice(0).map((entry) => entry.close()));
    });

    let groups = 0;
    const join = async (
      group: string,
      identity: string,
      more: Partial<MembershipOptions> & { through?: KubeClient } = {},
    ): Promise<Membership> => {
      const client = more.through ?? scene.client;
      const informers = createInformers({ client, log });
      const membership = joinMembership({
        client,
        informers,
        namespace: scene.ns,
        groupLabel: GROUP_LABEL,
        group,
        identity,
        log,
        timing: MEMBERSHIP_TEST_TIMING,
        ...more,
      });
      memberships.push({ membership, close: async () => (await membership.leave(), await informers.close()) });
      await membership.joined;
      return membership;
    };
    const group = () => `g${++groups}`;
    const names = (membership: Membership) => membership.members().map(({ identity }) => identity);
    const leases = async (of: string) =>
      (await scene.client.list(Lease, { namespace: scene.ns, labelSelector: `${GROUP_LABEL}=${of}` })).items
        .map(({ spec }) => spec?.holderIdentity)
        .sort();

    it("tells that the API server answers an older version than before", async () => {
      const onRewound = vi.fn();
      let behind = 0;
      const patch: KubeClient["patch"] = async (...args) => {
        const answer = await scene.client.patch(...args);
        const { resourceVersion = "" } = answer.metadata;
        answer.metadata.resourceVersion = String(Math.max(Number(resourceVersion) - behind, 1));
        return answer as never;
      };
      const renewals = vi.fn(patch);
      const through = { ...scene.client, patch: renewals } as KubeClient;
      await join(group(), "a", { through, onRewound });
      await eventually(() => expect(renewals.mock.calls.length).toBeGreaterThan(2));
      expect(onRewound).not.toHaveBeenCalled();
      behind = 1_000_000_000;
      await eventually(() => expect(onRewound).toHaveBeenCalled());
    });

    it("shows every member and its annotations to all others until it leaves", async () => {
      const of = group();
      const a = await join(of, "a", { annotations: { "machinery.example/url": "https://a" } });
      const b = await join(of, "b");
      await join(group(), "stranger");
      await eventually(() => expect(names(a)).toEqual(["a", "b"]));
      expect(names(b)).toEqual(["a", "b"]);
      await b.annotate({ "machinery.example/url": "https://b" });
      await eventually(() =>
        expect(a.members().map(({ annotations }) => annotations["machinery.example/url"])).toEqual([
          "https://a",
          "https://b",
        ]),
      );
      expect(a.isMember()).toBe(true);
      let changes = 0;
      a.onChange(() => changes++);
      await b.leave();
      await eventually(() => expect(names(a)).toEqual(["a"]));
      expect(changes).toBe(1);
      expect(b.isMember()).toBe(false);
      expect(await leases(of)).toEqual(["a"]);
    });

    it("a member stays longer than a lease while it renews", async () => {
      const of = group();
      const a = await join(of, "a");
      await join(of, "b");
      await eventually(() => expect(names(a)).toEqual(["a", "b"]));
      let changes = 0;
      a.onChange(() => changes++);
      const renewals = new Set<unknown>();
      await eventually(async () => {
        renewals.add((await scene.client.get(Lease, { namespace: scene.ns, name: `${of}-b` })).spec?.renewTime);
        expect(renewals.size).toBeGreaterThan(8);
      });
      expect([names(a), changes]).toEqual([["a", "b"], 0]);
    });

    it("listConsistent includes a member that joined just now, whatever the watch has delivered", async () => {
      const of = group();
      const a = await join(of, "a");
      await join(of, "b");
      expect((await a.listConsistent()).map(({ identity }) => identity)).toEqual(["a", "b"]);
    });

    it("deletes the Lease of a killed member and keeps the survivor's", async () => {
      const of = group();
      const a = await join(of, "a");
      const b = await join(of, "b");
      await eventually(() => expect(names(a)).toEqual(["a", "b"]));
      await b.abandon();
      expect(names(a)).toEqual(["a", "b"]);
      await eventually(() => expect(names(a)).toEqual(["a"]));
      await eventually(async () => expect(await leases(of)).toEqual(["a"]));
      // A restart gets a new Lease, also under the same name.
      const before = b.ownerReference()?.uid;
      const again = await join(of, "b");
      expect(again.ownerReference()?.uid).not.toBe(before);
    });

    it("a restart under a name that still has a Lease creates a new Lease", async () => {
      const of = group();
      const first = await join(of, "a");
      const uid = first.ownerReference()?.uid;
      await first.abandon();
      const second = await join(of, "a");
      expect(second.ownerReference()?.uid).not.toBe(uid);
      expect((await scene.client.get(Lease, { namespace: scene.ns, name: `${of}-a` })).metadata.uid).toBe(
        second.ownerReference()?.uid,
      );
    });

    it("is no member while it cannot renew, nor after an eviction until it has caught up", async () => {
      const of = group();
      let cut = false;
      const unlessCut =
        <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
        (...args: A) =>
          cut ? Promise.reject(new Error("cut off")) : call(...args);
      const { client } = scene;
      // Block rejoining too, or the deleted Lease is back before anyone observes its absence.
      const through = {
        ...client,
        patch: unlessCut(client.patch.bind(client)),
        create: unlessCut(client.create.bind(client)),
      } as KubeClient;
      let caughtUp = 0;
      const gate = Promise.withResolvers<void>();
      const b = await join(of, "b", { through, onRejoin: () => (caughtUp++, gate.promise) });
      const a = await join(of, "a");
      await eventually(() => expect(names(a)).toEqual(["a", "b"]));
      cut = true;
      await eventually(() => expect(b.isMember()).toBe(false));
      await eventually(() => expect(b.problem()).toBe("cut off"));
      await eventually(async () => expect(await leases(of)).toEqual(["a"]));
      cut = false;
      await eventually(() => expect(caughtUp).toBe(1));
      await eventually(async () => expect(await leases(of)).toEqual(["a", "b"]));
      expect(b.isMember()).toBe(false);
      gate.resolve();
      await eventually(() => expect(b.isMember()).toBe(true));
      expect(caughtUp).toBe(1);
    });
  });
}
