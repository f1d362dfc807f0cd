// Replicas that join, die, stand still and are replaced while a rule changes, on a real kube-apiserver: Enforced never says more than the processes do.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, readyOf, setRunning, untilReady } from "../controllers/test-env.ts";
import { LEASE_MS, ReplicasWorld, SENTENCE } from "./replicas-world.ts";

const reason = whyNoControlPlane();
const REPLICAS = 3;
/** The number of the replica that joins. */
const JOINER = REPLICAS;
const TEST_MS = 400_000;
/** Far more than a quiet machine needs. */
const WAIT_MS = 120_000;
const REST_MS = 5_000;

describe.skipIf(reason !== undefined)(`replicas under faults${reason ? `: skipped, ${reason}` : ""}`, () => {
  let world: ReplicasWorld;
  beforeAll(async () => {
    world = await ReplicasWorld.start(REPLICAS);
  }, TEST_MS);
  afterAll(() => world?.stop(), TEST_MS);
  beforeEach(() => world.thaw(), TEST_MS);

  /** Each of these serves, judges by the rule, and none ever let a write pass while the status said that all judge by it. */
  const untilRefusedBy = async (...which: number[]): Promise<void> => {
    await Promise.all(which.map((one) => world.replicas.untilReady(one)));
    const before = [...world.witness.refusals];
    await eventually(() => {
      expect(world.witness.faults).toEqual([]);
      for (const one of which) expect(world.witness.refusals[one]).toBeGreaterThan(before[one] ?? 0);
    }, WAIT_MS);
  };
  const isEnforced = async (): Promise<boolean> => (await world.enforced())?.status === "True";
  /** Waits until the rule is said to be in force; that must not be before others count the replica as gone. */
  const untilEnforcedWithout = async (gone: number): Promise<void> => {
    await eventually(async () => expect(await isEnforced()).toBe(true), WAIT_MS);
    // The last renewal was a third of the lease before at most.
    expect(performance.now() - gone).toBeGreaterThan(LEASE_MS / 2);
  };

  test(
    "a change costs a write for each replica, two of the constraint's status and one for the audit's numbers; then nothing is written",
    async () => {
      const before = { status: world.statusWrites, replicas: world.replicaWrites };
      await world.freeze(true);
      await world.untilFrozen();
      await untilRefusedBy(0, 1, 2);
      await world.untilQuiet();
      expect(world.statusWrites - before.status).toBeLessThanOrEqual(3);
      expect(world.replicaWrites - before.replicas).toBeLessThanOrEqual(REPLICAS);
      const versions = await world.listVersions();
      await delay(REST_MS);
      expect(await world.listVersions()).toEqual(versions);
    },
    TEST_MS,
  );

  test(
    "a replica joins while the rule changes",
    async () => {
      world.replicas.start(JOINER);
      await world.freeze(true);
      await world.untilFrozen();
      await untilRefusedBy(0, 1, 2, JOINER);
      await world.replicas.end(JOINER);
    },
    TEST_MS,
  );

  test(
    "a killed replica counts until its Lease has expired",
    async () => {
      await world.replicas.kill(1);
      const gone = performance.now();
      await world.freeze(true);
      await untilEnforcedWithout(gone);
      await untilRefusedBy(0, 2);
      await untilRefusedBy(0, 1, 2);
    },
    TEST_MS,
  );

  test.each(["the leader", "another"])(
    "%s stands still, and judges by the new rule when it goes on",
    async (which) => {
      const leader = await world.leader();
      const paused = which === "the leader" ? leader : (leader + 1) % REPLICAS;
      const key = { namespace: world.namespace, name: `waits-${paused}` };
      await applyApp(world.client, key, { app: { state: "Stopped" } });
      // A process that knows of no rule judges nothing twice.
      await world.forget();
      await world.replicas.idle();
      world.replicas.pause(paused);
      const gone = performance.now();
      try {
        await world.freeze(true);
        await untilEnforcedWithout(gone);
        await world.client.patch(App, key, { type: "merge", body: { spec: { state: "Started" } } });
        await untilReady(world.client, App, key, { status: "False", reason: "PolicyDenied" });
      } finally {
        world.replicas.resume(paused);
      }
      await untilRefusedBy(0, 1, 2);
      await world.replicas.idle();
      const app = await world.client.get(App, key);
      expect([readyOf(app)?.message, app.status?.revision]).toEqual([SENTENCE, undefined]);
      await world.client.delete(App, key);
    },
    TEST_MS,
  );

  test(
    "all replicas are replaced, one by one: no write of the status, and no gap",
    async () => {
      await world.freeze(true);
      await world.untilFrozen();
      await untilRefusedBy(0, 1, 2);
      await world.replicas.idle();
      const before = world.statusWrites;
      for (const old of [0, 1, 2]) {
        await world.replicas.untilReady(JOINER);
        await world.replicas.end(old);
        await untilRefusedBy(JOINER);
        await world.replicas.untilReady(old);
        await world.replicas.end(JOINER);
      }
      await untilRefusedBy(0, 1, 2);
      expect(await isEnforced()).toBe(true);
      expect(world.statusWrites - before).toBe(0);
    },
    TEST_MS,
  );

  test(
    "the rule changes while a replica joins and another leaves",
    async () => {
      world.replicas.start(JOINER);
      await world.freeze(true);
      await world.replicas.end(0);
      await eventually(async () => expect(await isEnforced()).toBe(true), WAIT_MS);
      await untilRefusedBy(1, 2, JOINER);
      await untilRefusedBy(0);
      await world.replicas.end(JOINER);
    },
    TEST_MS,
  );

  test(
    "without the right to read tasks no start is decided, the status says so, and what runs goes on",
    async () => {
      const key = { namespace: world.namespace, name: "runs" };
      await applyApp(world.client, key);
      const lrp = await eventually(() => currentLRP(world.client, key));
      await setRunning(world.client, lrp);
      await world.allowTasks(false);
      try {
        await eventually(async () =>
          expect(await world.enforced()).toMatchObject({ status: "False", reason: "ReplicaFails" }),
        );
        await world.client.patch(App, key, { type: "merge", body: { spec: { restart: "1" } } });
        await untilReady(world.client, App, key, { status: "False", reason: "PolicyUnknown" });
        const { metadata } = await currentLRP(world.client, key);
        expect([metadata.name, metadata.deletionTimestamp]).toEqual([lrp.metadata.name, undefined]);
      } finally {
        await world.allowTasks(true);
      }
      await eventually(async () => {
        expect(await isEnforced()).toBe(true);
        expect((await world.client.get(App, key)).status?.observedRestart).toBe("1");
      }, WAIT_MS);
    },
    TEST_MS,
  );
});
