// The status of a Replica: parked watches, cluster-wide and by namespace, in a stable order.
import pino from "pino";
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import {
  planReport,
  planEvent,
  presentReplica,
  reportReplica,
  type ReplicaState,
  type ReportState,
} from "./replica-reporter.ts";

const serving = { ready: true, pending: [], degraded: [] };

test("names parked kinds and namespaces, sorted", () => {
  const { status, ready } = presentReplica({
    health: { ...serving, degraded: [{ name: "controllers", reason: "ingresses Forbidden" }] },
    leads: ["leader-b", "leader-a"],
    watches: [
      {
        resource: "routes.example",
        state: "watching",
        synced: true,
        namespaces: 3,
        notWatching: [
          { namespace: "two", state: "parked", parkReason: "Forbidden" },
          { namespace: "one", state: "backoff" },
        ],
      },
      { resource: "ingresses.example", state: "parked", synced: false, parkReason: "NoKind" },
      { resource: "apps.example", state: "watching", synced: true },
    ],
  });
  expect(ready).toBe(true);
  expect(status).toEqual({
    leads: ["leader-a", "leader-b"],
    parked: [
      { resource: "ingresses.example", reason: "NoKind" },
      { resource: "routes.example", namespace: "two", reason: "Forbidden" },
    ],
    degraded: [{ name: "controllers", reason: "ingresses Forbidden" }],
  });
});

test("reports why it is not ready", () => {
  const health = {
    ready: false,
    pending: [
      { name: "api", reason: "apps listing" },
      { name: "token", reason: "refused" },
    ],
    degraded: [],
  };
  expect(presentReplica({ health, leads: [], watches: [] })).toMatchObject({
    ready: false,
    message: "api: apps listing; token: refused",
  });
});

test("writes nothing while nothing changes, and recovers after another writer changed the object", async () => {
  let version = 1;
  let leads = ["leader-a"];
  const replica = () => ({
    apiVersion: "cupola.dev/v1alpha1",
    kind: "Replica",
    metadata: {
      namespace: "cupola-system",
      name: "r",
      resourceVersion: String(version),
      ownerReferences: [{ apiVersion: "v1", kind: "Lease", name: "l", uid: "u" }],
    },
  });
  const patch = vi.fn(
    async (
      _ref: unknown,
      _key: unknown,
      { body }: { body: { metadata?: { resourceVersion?: string }; status: object } },
    ) => {
      const given = body.metadata?.resourceVersion;
      if (given !== undefined && given !== String(version)) throw new KubeError({ code: 409, reason: "Conflict" });
      version++;
      return { ...replica(), status: body.status };
    },
  );
  const health = { ...serving };
  const look = vi.fn(() => ({ health, leads, watches: [] }));
  const halt = new AbortController();
  const client = { apply: async () => replica(), patch } as unknown as KubeClient;
  const membership = {
    identity: "r",
    ownerReference: () => ({ apiVersion: "v1", kind: "Lease", name: "l", uid: "u" }),
  } as unknown as Membership;
  const over = reportReplica({
    client,
    membership,
    operations: [],
    observe: look,
    events: { record: vi.fn(), flush: () => Promise.resolve() },
    signal: halt.signal,
    log: pino({ level: "silent" }),
    timing: { pollMs: 1, retryMs: 1, stableMs: 0 },
  });
  await vi.waitFor(() => expect(look.mock.calls.length).toBeGreaterThan(5));
  expect(patch).toHaveBeenCalledTimes(1);
  // Another client annotates the object; then its status and conditions change.
  version++;
  leads = [];
  health.ready = false;
  await vi.waitFor(async () => expect(await patch.mock.results.at(-1)?.value).toMatchObject({ status: { leads: [] } }));
  halt.abort();
  await over;
});

test("a component that becomes unavailable is an Event, and so is the return of the last one", () => {
  const of = (...names: string[]) =>
    presentReplica(view({ health: { ...serving, degraded: names.map((name) => ({ name, reason: "gone" })) } }));
  expect(planEvent(undefined, of())).toBeUndefined();
  expect(planEvent(of(), of("permissions"))).toMatchObject({ type: "Warning", message: "permissions: gone" });
  expect(planEvent(of("permissions"), of("permissions"))).toBeUndefined();
  expect(planEvent(of("permissions"), of())).toMatchObject({ type: "Normal", reason: "Recovered" });
});

const timing = { pollMs: 500, retryMs: 5_000, stableMs: 400, maxDelayMs: 30_000, messageMs: 60_000 };
const view = (more: Partial<ReplicaState> = {}): ReplicaState => ({ health: serving, leads: [], watches: [], ...more });
const degraded = (name: string, reason: string): ReplicaState =>
  view({ health: { ...serving, degraded: [{ name, reason }] } });

/** Checks twice a second and returns the seconds at which the status is written. */
function writtenAt(seenAt: (seconds: number) => ReplicaState, seconds: number): number[] {
  const written: number[] = [];
  let telling: ReportState = { reported: { present: presentReplica(view()), at: 0 } };
  for (let now = 500; now <= seconds * 1000; now += timing.pollMs) {
    const present = presentReplica(seenAt(now / 1000));
    const { due, next } = planReport(telling, present, { now, timing });
    telling = due ? { reported: { present, at: now } } : next;
    if (due) written.push(now / 1000);
  }
  return written;
}

test.each<[string, (seconds: number) => ReplicaState, number[]]>([
  ["nothing changes", () => view(), []],
  ["something changes and stays so", (at) => (at < 5 ? view() : view({ leads: ["leader-a"] })), [5.5]],
  ["it comes and goes between two looks", (at) => (at === 5 ? degraded("api", "one is behind") : view()), []],
  [
    "its words change at each look",
    (at) => (at < 5 ? view() : degraded("replicas", `refused at ${at}`)),
    [5.5, 65.5, 125.5],
  ],
  [
    "it never rests, between two that are both new",
    (at) => (at % 1 === 0 ? view({ leads: ["leader-a"] }) : degraded("api", "")),
    [30.5],
  ],
])("a Replica is written seldom: %s", (_what, seenAt, seconds) => expect(writtenAt(seenAt, 160)).toEqual(seconds));
