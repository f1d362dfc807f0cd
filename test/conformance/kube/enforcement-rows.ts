// The condition Enforced on an API server, while replicas join, lag, fail, leave and are killed.
import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap } from "../../../kube/api/builtin.ts";
import { runLeaderWork } from "../../../kube/lease/leader-work.ts";
import {
  enforcementController,
  startReporting,
  type ReportLocation,
} from "../../../kube/lease/replica-acknowledgement.ts";
import { joinMembership, type Membership } from "../../../kube/lease/membership.ts";
import { createReadiness, type Readiness } from "../../../kube/server/readiness.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { condition, Gadget, log, platform, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";
import { GROUP_LABEL, MEMBERSHIP_TEST_TIMING } from "./membership-rows.ts";

const leader = { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, retryPeriodMs: 100, renewIntervalMs: 300 };

interface Replica {
  membership: Membership;
  readiness: Readiness;
  /** The replica applies nothing before this resolves. */
  lag: { until: Promise<void> };
  /** Texts that the replica cannot apply. */
  failingKeys: Set<string>;
  stop(): Promise<void>;
  /** Like kill -9: nothing is reported, nothing is deleted. */
  kill(): Promise<void>;
}

export function enforcementRows(scene: Scene): void {
  describe("enforcement", () => {
    const alive: Replica[] = [];
    let runs = 0;
    afterEach(async () => {
      await Promise.all(alive.splice(0).map((replica) => replica.stop()));
    });

    const replicaOf = async (run: string, identity: string, until = Promise.resolve()): Promise<Replica> => {
      const informers = createInformers({ client: scene.client, log });
      const reportLocation: ReportLocation = {
        namespace: scene.ns,
        label: `machinery.example/report-${run}`,
        annotation: "machinery.example/reports-on",
      };
      const membership = joinMembership({
        client: scene.client,
        informers,
        namespace: scene.ns,
        groupLabel: GROUP_LABEL,
        group: run,
        identity,
        log,
        timing: MEMBERSHIP_TEST_TIMING,
      });
      // First the Lease, then the lists.
      await membership.joined;
      const halt = new AbortController();
      const readiness = createReadiness();
      const lag = { until };
      const poison = new Set<string>();
      const { store } = informers.ensure(Gadget, { namespace: scene.ns });
      const take = async (gadget: Gadget): Promise<void> => {
        await lag.until;
        if (poison.has(gadget.spec.text ?? "")) throw new Error(`cannot use ${gadget.spec.text}`);
      };
      const reporting = startReporting({
        client: scene.client,
        store,
        membership,
        location: reportLocation,
        apply: take,
        tracker: readiness.track("gadgets"),
        signal: halt.signal,
        log,
      });
      const reports = informers.ensure(ConfigMap, { namespace: scene.ns, labelSelector: reportLocation.label }).store;
      expect(await reports.waitSynced(10_000)).toBe(true);
      const open = () => ({
        controllers: [
          enforcementController({ name: `sum-${run}`, ref: Gadget, membership, location: reportLocation, reports }),
        ],
      });
      const elected = runLeaderWork({
        client: scene.client,
        informers,
        ownership: platform,
        namespace: scene.ns,
        name: `lead-${run}`,
        identity,
        requiredKinds: [Gadget],
        createWork: open,
        signal: halt.signal,
        log,
        timing: leader,
      });
      const end = async (leave: () => Promise<void>): Promise<void> => {
        alive.splice(alive.indexOf(replica), 1);
        lag.until = Promise.resolve();
        halt.abort();
        await Promise.all([reporting.stopped, elected.stopped]);
        await leave();
        await informers.close();
      };
      const replica: Replica = {
        membership,
        readiness,
        lag,
        failingKeys: poison,
        stop: () => end(() => membership.leave()),
        kill: () => end(() => membership.abandon()),
      };
      alive.push(replica);
      return replica;
    };

    /** The condition, if it is for the current generation. */
    const enforced = async (name: string): Promise<string | undefined> => {
      const gadget = await scene.client.get(Gadget, { namespace: scene.ns, name });
      const found = condition(gadget, "Enforced");
      return found?.observedGeneration === gadget.metadata.generation
        ? `${found?.status} ${found?.reason} ${found?.message}`.trim()
        : undefined;
    };
    const change = (name: string, text: string) =>
      scene.client.patch(Gadget, { namespace: scene.ns, name }, { type: "merge", body: { spec: { text } } });

    it("is never True while a joined replica lags, and is True once it has caught up", async () => {
      const run = `e${++runs}`;
      await scene.gadget("rule", { text: "1" });
      await Promise.all([replicaOf(run, "a"), replicaOf(run, "b")]);
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
      const gate = Promise.withResolvers<void>();
      const late = await replicaOf(run, "c", gate.promise);
      // Record every value of the condition from here on.
      const events: string[] = [];
      const seen = createInformers({ client: scene.client, log });
      const { store } = seen.ensure(Gadget, { namespace: scene.ns });
      store.onChange(({ object }) => {
        const found = condition(object, "Enforced");
        if (found?.status === "True") events.push(`${object.spec.text} at ${found.observedGeneration}`);
      });
      expect(await seen.waitSynced(10_000)).toBe(true);
      events.length = 0;
      for (const text of ["2", "3", "4"]) {
        await change("rule", text);
        await eventually(async () => expect(await enforced("rule")).toBe("False Waiting not yet in c"));
      }
      expect(late.readiness.check()).toMatchObject({ ready: false, pending: [{ name: "gadgets" }] });
      expect(events.filter((line) => !line.endsWith(" at 1"))).toEqual([]);
      gate.resolve();
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
      expect(late.readiness.check().ready).toBe(true);
      await seen.close();
    });

    it("does not count a replica killed for longer than a lease, nor its reports from before a restart", async () => {
      const run = `e${++runs}`;
      await scene.gadget("rule", { text: "1" });
      await replicaOf(run, "a");
      const b = await replicaOf(run, "b");
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
      await b.kill();
      await change("rule", "2");
      await eventually(async () => expect(await enforced("rule")).toBe("False Waiting not yet in b"));
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
      const gate = Promise.withResolvers<void>();
      await replicaOf(run, "b", gate.promise);
      await eventually(async () => expect(await enforced("rule")).toBe("False Waiting not yet in b"));
      gate.resolve();
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
    });

    it("names a replica that cannot apply an object, keeps it unready, until the object is repaired or deleted", async () => {
      const run = `e${++runs}`;
      await scene.gadget("rule", { text: "bad" });
      await scene.gadget("other", { text: "worse" });
      await replicaOf(run, "a");
      const gate = Promise.withResolvers<void>();
      const b = await replicaOf(run, "b", gate.promise);
      b.failingKeys.add("bad").add("worse");
      gate.resolve();
      await eventually(async () => expect(await enforced("rule")).toBe("False Refused b: cannot use bad"));
      await eventually(() =>
        expect(b.readiness.check()).toMatchObject({
          ready: false,
          pending: [{ reason: expect.stringContaining("cannot use") as string }],
        }),
      );
      await change("rule", "good");
      await scene.client.delete(Gadget, { namespace: scene.ns, name: "other" });
      await eventually(() => expect(b.readiness.check()).toMatchObject({ ready: true }));
      await eventually(async () => expect(await enforced("rule")).toBe("True InForce"));
      // Reports on deleted objects are deleted too.
      await eventually(async () =>
        expect(
          (
            await scene.client.list(ConfigMap, {
              namespace: scene.ns,
              labelSelector: `machinery.example/report-${run}`,
            })
          ).items.map(({ metadata }) => metadata.annotations?.["machinery.example/reports-on"]),
        ).toEqual([`${scene.ns}/rule`, `${scene.ns}/rule`]),
      );
    });
  });
}
