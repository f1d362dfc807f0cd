// The workqueue on a fake clock, and against a model.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorkqueue, LOW_PRIORITY, type RequeueAction, type Workqueue } from "./workqueue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A worker whose keys end when the test says so. */
function harness(workers: number) {
  const running = new Map<string, (outcome: RequeueAction) => void>();
  const order: string[] = [];
  const faults: string[] = [];
  const queue: Workqueue = createWorkqueue({
    workers,
    onFault: (key) => faults.push(key),
    now: () => Date.now(),
    process: (key) => {
      if (running.has(key)) throw new Error(`two workers on ${key}`);
      order.push(key);
      return new Promise((resolve) => running.set(key, resolve));
    },
  });
  const finish = async (key: string, outcome: RequeueAction = { kind: "done" }) => {
    const end = running.get(key);
    running.delete(key);
    end?.(outcome);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { queue, running, order, faults, finish, settle: () => vi.advanceTimersByTimeAsync(0) };
}

describe("queue", () => {
  it("processes each key once, and once more when added during processing", async () => {
    const { queue, order, running, finish, settle } = harness(2);
    queue.add("a");
    queue.add("a");
    await settle();
    expect(order).toEqual(["a"]);
    queue.add("a");
    queue.add("a");
    await settle();
    expect([...running.keys()]).toEqual(["a"]);
    await finish("a");
    expect(order).toEqual(["a", "a"]);
    await finish("a");
    expect(queue.depth).toBe(0);
    expect(order).toEqual(["a", "a"]);
  });

  it("serves by priority, then by arrival, and raises a waiting key", async () => {
    const { queue, order, finish, settle } = harness(1);
    queue.add("busy");
    await settle();
    for (const key of ["l1", "l2"]) queue.add(key, { priority: LOW_PRIORITY });
    for (const key of ["n1", "n2"]) queue.add(key);
    queue.add("l2");
    for (const key of ["busy", "n1", "n2", "l2", "l1"]) await finish(key);
    expect(order).toEqual(["busy", "n1", "n2", "l2", "l1"]);
  });

  it("keeps the earliest of two delays, and an immediate add overtakes a delay", async () => {
    const { queue, order, finish, settle } = harness(1);
    queue.add("a", { afterMs: 1000 });
    queue.add("a", { afterMs: 5000 });
    queue.add("b", { afterMs: 60_000 });
    await vi.advanceTimersByTimeAsync(1001);
    expect(order).toEqual(["a"]);
    await finish("a");
    queue.add("b");
    await settle();
    expect(order).toEqual(["a", "b"]);
    await finish("b");
    expect(queue.depth).toBe(0);
  });

  it("does not lose an immediate add behind a delayed one during processing", async () => {
    const { queue, order, finish, settle } = harness(1);
    queue.add("a");
    await settle();
    queue.add("a");
    for (let i = 0; i < 20; i++) queue.add("a", { afterMs: 60_000 });
    await finish("a");
    expect(order).toEqual(["a", "a"]);
  });

  it("retries 5 ms x 2^n, forgets after success, and counts a rejection as a failure", async () => {
    const starts: number[] = [];
    const begin = Date.now();
    const faults: string[] = [];
    const queue = createWorkqueue({
      workers: 1,
      now: () => Date.now(),
      onFault: (key) => faults.push(key),
      process: () => {
        starts.push(Date.now() - begin);
        return starts.length < 5 ? Promise.reject(new Error("no")) : Promise.resolve({ kind: "done" });
      },
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(1000);
    expect(starts).toEqual([0, 5, 15, 35, 75]);
    expect(faults).toHaveLength(4);
    expect(queue.depth).toBe(0);
  });

  it("limits the retries of all keys by the bucket", async () => {
    let tries = 0;
    const queue = createWorkqueue({
      workers: 200,
      now: () => Date.now(),
      onFault: () => undefined,
      rateLimits: { perSecond: 10, burst: 100, minMs: 5 },
      process: () => (tries++, Promise.resolve({ kind: "retry" })),
    });
    for (let i = 0; i < 150; i++) queue.add(`k${i}`);
    await vi.advanceTimersByTimeAsync(10_000);
    // 150 first attempts, 100 from the bucket, then 10 per second.
    expect(tries).toBeGreaterThanOrEqual(345);
    expect(tries).toBeLessThanOrEqual(351);
    await queue.close();
  });

  it("close waits for processing, drops waiting keys and accepts no more", async () => {
    const { queue, order, finish, settle } = harness(1);
    queue.add("a");
    queue.add("b");
    queue.add("c", { afterMs: 10 });
    await settle();
    let closed = false;
    const closing = queue.close().then(() => (closed = true));
    await settle();
    expect(closed).toBe(false);
    await finish("a", { kind: "retry" });
    await closing;
    queue.add("d");
    await vi.advanceTimersByTimeAsync(1000);
    expect(order).toEqual(["a"]);
  });

  it("model: every key is processed after its last add, never twice at the same time", async () => {
    const key = fc.constantFrom("a", "b", "c", "d");
    const action = fc.oneof(
      fc.record({
        do: fc.constant("add" as const),
        key,
        priority: fc.constantFrom(-100, 0, 10),
        afterMs: fc.constantFrom(0, 0, 7, 50),
      }),
      fc.record({
        do: fc.constant("finish" as const),
        key,
        outcome: fc.constantFrom<RequeueAction>({ kind: "done" }, { kind: "retry" }, { kind: "requeue", afterMs: 20 }),
      }),
      fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 8, 60) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (actions, workers) => {
          const { queue, running, order, finish, settle } = harness(workers);
          const owed = new Map<string, number>();
          for (const step of actions) {
            if (step.do === "add") {
              queue.add(step.key, step);
              owed.set(step.key, order.length);
            } else if (step.do === "finish") await finish(step.key, step.outcome);
            else await vi.advanceTimersByTimeAsync(step.ms);
            await settle();
            expect(running.size).toBeLessThanOrEqual(workers);
          }
          for (let round = 0; round < 30; round++) {
            for (const running_ of [...running.keys()]) await finish(running_);
            await vi.advanceTimersByTimeAsync(100);
          }
          for (const [added, at] of owed) expect(order.slice(at), `${added} after its last add`).toContain(added);
          expect(queue.depth).toBe(0);
          await queue.idle();
        },
      ),
      { numRuns: 200 },
    );
  });
});
