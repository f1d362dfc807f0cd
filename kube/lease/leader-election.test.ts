// Leader election survives local faults. Leases on an API server are tested in test/conformance/kube.
import pino from "pino";
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/errors.ts";
import { runLeaderElection } from "./leader-election.ts";

test("an unreadable credential does not end the candidacy", async () => {
  const stop = new AbortController();
  const terms: number[] = [];
  let asked = 0;
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "lead", namespace: "one", resourceVersion: "1" },
  };
  const client = {
    find: async () => {
      if (++asked === 1) throw new Error("ENOENT: no token file");
    },
    create: async () => lease,
    update: async () => lease,
  } as unknown as KubeClient;
  await runLeaderElection({
    client,
    namespace: "one",
    name: "lead",
    identity: "a",
    signal: stop.signal,
    log: pino({ level: "silent" }),
    timing: { leaseDurationMs: 100, renewDeadlineMs: 50, retryPeriodMs: 1, renewIntervalMs: 10 },
    onStartedLeading: async (_over, { transitions }) => {
      terms.push(transitions);
      stop.abort();
    },
  });
  expect(terms).toEqual([0]);
});

type Spec = { holderIdentity?: string; leaseTransitions?: number; leaseDurationSeconds?: number };

/** A Lease as a server keeps it: a write with an old version is refused. `unanswered` writes take effect and time out. */
function server() {
  const state = { version: 0, uid: "first", spec: {} as Spec, unanswered: 0, writes: 0 };
  const present = () => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "lead", namespace: "one", uid: state.uid, resourceVersion: String(state.version) },
    spec: state.spec,
  });
  const write = (spec: Spec): void => {
    state.spec = spec;
    state.version++;
    state.writes++;
  };
  const client = {
    find: async () => (state.version === 0 ? undefined : present()),
    get: async () => present(),
    create: async (_ref: unknown, { spec }: { spec: Spec }) => (write(spec), present()),
    update: async (_ref: unknown, { metadata, spec }: { metadata: { resourceVersion: string }; spec: Spec }) => {
      if (metadata.resourceVersion !== String(state.version)) throw new KubeError({ code: 409, reason: "Conflict" });
      write(spec);
      if (state.unanswered-- > 0) throw new KubeError({ code: 0, reason: "Deadline" });
      return present();
    },
  } as unknown as KubeClient;
  return { state, client };
}

const WAIT = { timeout: 20_000 };
const options = { namespace: "one", name: "lead", identity: "a", log: pino({ level: "silent" }) };

test("a successful renewal without an answer does not end the term", async () => {
  const { state, client } = server();
  const stop = new AbortController();
  const ended = await new Promise<boolean>((resolve) => {
    void runLeaderElection({
      ...options,
      client,
      signal: stop.signal,
      timing: { leaseDurationMs: 30_000, renewDeadlineMs: 20_000, retryPeriodMs: 1, renewIntervalMs: 1 },
      onStartedLeading: async (over) => {
        state.unanswered = 1;
        const before = state.writes;
        await vi.waitUntil(() => over.aborted || state.writes > before + 5, WAIT);
        resolve(over.aborted);
        stop.abort();
      },
    });
  });
  expect(ended).toBe(false);
  await vi.waitFor(() => expect(state.spec.holderIdentity).toBe(""), WAIT);
});

test("a renewal may take most of the time that is left", async () => {
  const { client } = server();
  const stop = new AbortController();
  const deadlines: number[] = [];
  const update: KubeClient["update"] = (ref, draft, options) => {
    deadlines.push(options?.deadlineMs ?? NaN);
    return client.update(ref, draft, options);
  };
  await runLeaderElection({
    ...options,
    client: { ...client, update },
    signal: stop.signal,
    timing: { leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryPeriodMs: 1, renewIntervalMs: 1 },
    onStartedLeading: async () => {
      await vi.waitUntil(() => deadlines.length > 0, WAIT);
      stop.abort();
    },
  });
  expect(deadlines[0]).toBeGreaterThan(250_000);
});

test("a lease released after an unanswered renewal can be acquired at once", async () => {
  const { state, client } = server();
  const stop = new AbortController();
  await runLeaderElection({
    ...options,
    client,
    signal: stop.signal,
    timing: { leaseDurationMs: 30_000, renewDeadlineMs: 20_000, retryPeriodMs: 1, renewIntervalMs: 10_000 },
    onStartedLeading: async () => {
      state.version++;
      stop.abort();
    },
  });
  expect(state.spec.holderIdentity).toBe("");
});

test.each([
  ["another process holds it", { holderIdentity: "b", leaseTransitions: 1 }, "first"],
  ["it was ours again, in a later term", { holderIdentity: "a", leaseTransitions: 2 }, "first"],
  ["it was recreated", { holderIdentity: "a", leaseTransitions: 0 }, "second"],
])("a term ends when another writer changes its Lease: %s", async (_what, spec, uid) => {
  const { state, client } = server();
  const stop = new AbortController();
  await runLeaderElection({
    ...options,
    client,
    signal: stop.signal,
    timing: { leaseDurationMs: 30_000, renewDeadlineMs: 20_000, retryPeriodMs: 1, renewIntervalMs: 1 },
    onStartedLeading: async (over) => {
      Object.assign(state, { spec, uid, version: 100 });
      await vi.waitUntil(() => over.aborted, WAIT);
      stop.abort();
    },
  });
  expect(state).toMatchObject({ spec, version: 100 });
});

test("a renewal does not outlast the term", async () => {
  const { client } = server();
  const stop = new AbortController();
  const renewMs = 300;
  const ends: number[] = [];
  const began = performance.now();
  const update = async (
    _ref: unknown,
    _lease: unknown,
    { deadlineMs = NaN }: { deadlineMs?: number },
  ): Promise<never> => {
    if (!stop.signal.aborted) ends.push(performance.now() - began + deadlineMs);
    return Promise.reject(new KubeError({ code: 0, reason: "Deadline" }));
  };
  await runLeaderElection({
    ...options,
    client: { ...client, update } as unknown as KubeClient,
    signal: stop.signal,
    timing: { leaseDurationMs: 450, renewDeadlineMs: renewMs, retryPeriodMs: 60, renewIntervalMs: 150 },
    onStartedLeading: async (over) => {
      await vi.waitUntil(() => over.aborted, { ...WAIT, interval: 1 });
      stop.abort();
    },
  });
  expect(ends.length).toBeGreaterThan(0);
  expect(Math.max(...ends)).toBeLessThan(renewMs + 25);
});

test("a Lease is taken over only after the time that its holder counts on, if that is longer than our own", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  try {
    const { state, client } = server();
    Object.assign(state, { version: 1, spec: { holderIdentity: "b", leaseTransitions: 0, leaseDurationSeconds: 10 } });
    const stop = new AbortController();
    const began = performance.now();
    let waitedMs = NaN;
    const running = runLeaderElection({
      ...options,
      client,
      signal: stop.signal,
      timing: { leaseDurationMs: 5_000, renewDeadlineMs: 3_000, retryPeriodMs: 100, renewIntervalMs: 1_000 },
      onStartedLeading: async () => {
        waitedMs = performance.now() - began;
        stop.abort();
      },
    });
    await vi.advanceTimersByTimeAsync(15_000);
    await running;
    expect(waitedMs).toBeGreaterThan(10_000);
    expect(waitedMs).toBeLessThan(11_000);
  } finally {
    vi.useRealTimers();
  }
});
