// Records of a leader: changes that it sees, changes before its term, and changes that it cannot understand.
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { AuditLog, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { recordOutsideWriters } from "../../crds/audit-log/outside-writers.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createWatchAudit } from "./watch-audit.ts";

const WAIT = { timeout: 30_000 };
const aBuildpack = (name: string): Buildpack =>
  recordOutsideWriters(
    makeObject(Buildpack, name, {
      spec: { name },
      metadata: {
        namespace: SYSTEM_NAMESPACE,
        resourceVersion: "1",
        managedFields: [{ manager: "kubectl", operation: "Update" }],
      },
    }),
  );

const anLRP = (instance: object): LRP =>
  makeObject(LRP, "shop-web", {
    spec: lrpSpec(),
    metadata: { namespace: "acme-dev", uid: "U" },
    status: { instances: [{ index: 0, ...instance }] },
  });

/** An API server's AuditLogs, and processes that watch it. `fault` is thrown by each read of a Namespace. */
function startCluster() {
  const events: AuditEvent[] = [];
  const namespace = { kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } };
  const cluster = { fault: undefined as Error | undefined, events };
  const client = {
    create: (_ref: unknown, { spec }: AuditLog) => Promise.resolve(events.push(...spec.events)),
    patch: (_ref: unknown, _key: unknown, { body }: { body: { value: AuditEvent }[] }) =>
      Promise.resolve(events.push(...body.map(({ value }) => value))),
  } as unknown as KubeClient;
  const startReplica = (writer: string) => {
    const errors: string[] = [];
    const listeners = new Map<string, (change: Change<KubeObject>) => void>();
    const informers = {
      ensure: ({ kind }: { kind: string }) => ({
        store: { onChange: (heard: (change: Change<KubeObject>) => void) => void listeners.set(kind, heard) },
      }),
      read: {
        find: ({ kind }: { kind: string }) => {
          if (cluster.fault) throw cluster.fault;
          return kind === "Namespace" ? namespace : undefined;
        },
        list: ({ kind }: { kind: string }) => (kind === AuditLog.kind ? [{ spec: { events } }] : []),
      },
    } as unknown as Informers;
    const log = pino({ level: "warn" }, { write: (line) => void errors.push(line) });
    const task = createWatchAudit({ informers, log, writer, deletionWaitMs: 1 });
    return {
      errors,
      see: (what: { type: string; object: KubeObject; old?: KubeObject; initial?: boolean }): void =>
        listeners.get(what.object.kind)?.({ initial: false, ...what } as Change<KubeObject>),
      lead: () => {
        const term = new AbortController();
        const ended = task.start(term.signal, client);
        return async (): Promise<void> => {
          term.abort();
          await ended;
        };
      },
    };
  };
  return { cluster, startReplica, listTypes: () => events.map(({ type, target }) => `${type} ${target.name}`) };
}

test("an error is logged with the object that caused it, and the next change is recorded", async () => {
  const { cluster, startReplica, listTypes } = startCluster();
  const replica = startReplica("a");
  const resign = replica.lead();
  cluster.fault = new TypeError("x is not a function");
  replica.see({ type: "added", object: aBuildpack("broken") });
  cluster.fault = undefined;
  replica.see({ type: "added", object: aBuildpack("next") });
  await resign();
  expect(replica.errors.join()).toMatch(/x is not a function.*"name":"broken"/);
  expect(listTypes()).toEqual(["audit.buildpack.create next"]);
});

test("what cannot be read for a minute, and what waits beyond the bound, is logged for what it is", () => {
  vi.useFakeTimers();
  try {
    const { cluster, startReplica } = startCluster();
    const replica = startReplica("a");
    replica.lead();
    cluster.fault = new NotSynced("namespaces");
    for (let at = 0; at < 1_002; at++) replica.see({ type: "added", object: aBuildpack(`n${at}`) });
    vi.advanceTimersByTime(1_000);
    expect(replica.errors.join()).toMatch(/"dropped":2,.*too many changes waited/);
    vi.advanceTimersByTime(60_000);
    const told = replica.errors.filter((line) => line.includes("could not be read for a minute"));
    expect(told).toHaveLength(1_000);
    expect(replica.errors.join()).not.toContain("not understood");
  } finally {
    vi.useRealTimers();
  }
});

test("a change whose surroundings cannot be read now is recorded later, and nothing is logged", async () => {
  const { cluster, startReplica, listTypes } = startCluster();
  const replica = startReplica("a");
  const resign = replica.lead();
  cluster.fault = new NotSynced("namespaces");
  replica.see({ type: "added", object: aBuildpack("early") });
  cluster.fault = undefined;
  await vi.waitFor(() => {
    expect(listTypes()).toEqual(["audit.buildpack.create early"]);
  }, WAIT);
  expect(replica.errors).toEqual([]);
  await resign();
});

test("a new leader records what the one before it did not, and nothing twice", async () => {
  const { startReplica, listTypes } = startCluster();
  const [first, second] = [startReplica("a"), startReplica("b")];
  const made = { type: "added", object: aBuildpack("made") };
  const gone = { type: "deleted", object: aBuildpack("gone"), old: aBuildpack("gone") };
  const resign = first.lead();
  for (const replica of [first, second]) replica.see(made);
  await resign();
  expect(listTypes()).toEqual(["audit.buildpack.create made"]);
  for (const replica of [first, second]) replica.see(gone);
  const end = second.lead();
  await vi.waitFor(() => {
    expect(listTypes()).toEqual(["audit.buildpack.create made", "audit.buildpack.delete gone"]);
  }, WAIT);
  await end();
});

test("a change of the very millisecond in which a term begins is not recorded twice", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const { startReplica, listTypes } = startCluster();
    const [first, second] = [startReplica("a"), startReplica("b")];
    const resign = first.lead();
    for (const replica of [first, second]) replica.see({ type: "added", object: aBuildpack("made") });
    await resign();
    await second.lead()();
    expect(listTypes()).toEqual(["audit.buildpack.create made"]);
  } finally {
    vi.useRealTimers();
  }
});

test("what the first list finds is no news", async () => {
  const { startReplica, listTypes } = startCluster();
  const replica = startReplica("a");
  const resign = replica.lead();
  replica.see({ type: "added", object: aBuildpack("old"), initial: true });
  replica.see({ type: "added", object: aBuildpack("new") });
  await resign();
  expect(listTypes()).toEqual(["audit.buildpack.create new"]);
});

test("a new leader records the replacement of an instance that was lost in the term before, once", async () => {
  const { startReplica, listTypes } = startCluster();
  const replicas = [startReplica("a"), startReplica("b")];
  const [first, second] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
  const seeAll = (old: LRP, object: LRP): void => {
    for (const replica of replicas) replica.see({ type: "modified", old, object });
  };
  const resign = first.lead();
  seeAll(anLRP({ state: "Running", ready: true, guid: "one" }), anLRP({ state: "Starting", ready: false }));
  await resign();
  expect(listTypes()).toEqual([]);
  seeAll(anLRP({ state: "Starting", ready: false }), anLRP({ state: "Running", ready: true, guid: "two" }));
  await second.lead()();
  await first.lead()();
  expect(listTypes()).toEqual(["audit.app.process.rescheduling x"]);
});

test("the first event after a pause is written at once, those that follow it together five seconds later", async () => {
  vi.useFakeTimers();
  try {
    const { startReplica, listTypes } = startCluster();
    const replica = startReplica("a");
    replica.lead();
    replica.see({ type: "added", object: aBuildpack("first") });
    await vi.advanceTimersByTimeAsync(100);
    replica.see({ type: "added", object: aBuildpack("second") });
    await vi.advanceTimersByTimeAsync(3_000);
    replica.see({ type: "added", object: aBuildpack("third") });
    expect(listTypes()).toEqual(["audit.buildpack.create first"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(listTypes()).toHaveLength(3);
  } finally {
    vi.useRealTimers();
  }
});
