// Leader election on an API server: one leader at a time, synced before it starts, no write after its term.
import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap, Lease } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { defineController } from "../../../kube/controller/controller.ts";
import { runLeaderWork, type RunningLeaderWork } from "../../../kube/lease/leader-work.ts";
import type { Term } from "../../../kube/lease/leader-election.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { Gadget, log, platform, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";

const timing = { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, retryPeriodMs: 100, renewIntervalMs: 300 };

export function leaderElectionRows(scene: Scene): void {
  describe("leader work", () => {
    const disposers: (() => Promise<void>)[] = [];
    afterEach(async () => {
      await Promise.all(disposers.splice(0).map((end) => end()));
    });

    /** A process that copies gadgets' text into ConfigMaps while it leads, and records its actions. */
    const startCandidate = (name: string, identity: string, through: KubeClient = scene.client) => {
      const informers = createInformers({ client: through, log });
      const halt = new AbortController();
      const notes: string[] = [];
      const terms: { term: Term; client: KubeClient }[] = [];
      const elected: RunningLeaderWork = runLeaderWork({
        client: through,
        informers,
        ownership: platform,
        namespace: scene.ns,
        name,
        identity,
        requiredKinds: [Gadget],
        signal: halt.signal,
        log,
        timing,
        createWork: (term, client) => {
          terms.push({ term, client });
          return {
            start: () => void notes.push("start"),
            stop: () => void notes.push("stop"),
            controllers: [
              defineController<Gadget>({
                name: `copy-${name}`,
                kind: "singleton",
                for: Gadget,
                owns: [ConfigMap],
                reconcile: ({ metadata, spec }) => (
                  notes.push(`${metadata.name} ${spec.text}`),
                  { status: { by: identity }, children: [] }
                ),
              }),
            ],
          };
        },
      });
      const stop = async () => {
        halt.abort();
        await elected.stopped;
        await informers.close();
      };
      disposers.push(stop);
      return { elected, notes, terms, stop };
    };

    it("work moves to another process when the leader stops, and never runs in two", async () => {
      await scene.gadget("one", { text: "1" });
      const a = startCandidate("work", "a");
      await eventually(() => expect(a.elected.isLeading()).toBe(true));
      const b = startCandidate("work", "b");
      await b.elected.cachesSynced;
      expect(b.elected.isLeading()).toBe(false);
      expect((await scene.ready("one")).status).toMatchObject({ by: "a" });
      await a.stop();
      expect(a.notes.at(-1)).toBe("stop");
      await eventually(() => expect(b.elected.isLeading()).toBe(true));
      await eventually(async () => expect((await scene.ready("one")).status).toMatchObject({ by: "b" }));
      expect(b.terms[0]?.term.transitions).toBe((a.terms[0]?.term.transitions ?? 0) + 1);
      const noted = a.notes.length;
      await scene.client.patch(
        Gadget,
        { namespace: scene.ns, name: "one" },
        { type: "merge", body: { spec: { text: "2" } } },
      );
      await eventually(() => expect(b.notes).toContain("one 2"));
      expect(a.notes).toHaveLength(noted);
    });

    it("a leader that lost its lease stops and can no longer write", async () => {
      await scene.gadget("fenced", { text: "1" });
      const a = startCandidate("fence", "a");
      await eventually(() => expect(a.elected.isLeading()).toBe(true));
      await scene.ready("fenced");
      // Take the Lease, as another process would after this one stalled.
      const lease = await scene.client.get(Lease, { namespace: scene.ns, name: "fence" });
      await scene.client.update(Lease, {
        ...lease,
        spec: { ...lease.spec, holderIdentity: "z", leaseTransitions: 7, renewTime: "2030-01-01T00:00:00.000000Z" },
      });
      await eventually(() => expect(a.elected.isLeading()).toBe(false));
      const term = a.terms[0];
      expect(term?.term.isHeld()).toBe(false);
      await expect(
        term?.client.create(ConfigMap, { metadata: { name: "late", namespace: scene.ns } }),
      ).rejects.toMatchObject({ code: 0, reason: "Fenced" });
      await expect(term?.client.raw("DELETE", `/api/v1/namespaces/${scene.ns}/configmaps/any`)).rejects.toMatchObject({
        reason: "Fenced",
      });
      expect(await term?.client.find(ConfigMap, { namespace: scene.ns, name: "late" })).toBeUndefined();
    });
  });
}
