// Workers are shared by owner, end with an overrun, and are made anew after one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { WorkerPool } from "./worker-pool.ts";

/** Answers a number with it, "id" with its thread, never ends a job of "loop", breaks on "throw". */
const PROGRAM = `import { parentPort, threadId } from "node:worker_threads";
parentPort.on("message", (message) => {
  if (message === "throw") throw new Error("broken");
  if (message === "loop") for (;;);
  parentPort.postMessage(message === "id" ? threadId : message);
});
`;

const folder = mkdtempSync(join(tmpdir(), "worker-pool-"));
const file = join(folder, "worker.mjs");
writeFileSync(file, PROGRAM);
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

const start = (options: { most?: number; deadlineMs?: number; mostWaiting?: number } = {}) =>
  new WorkerPool({ file, most: 1, deadlineMs: 20_000, idleMs: 1_000, mostWaiting: 3, ...options });

test("a job is answered, and one that takes too long is ended and holds up no other", async () => {
  const pool = start({ deadlineMs: 3_000 });
  expect(await pool.run("ann", 1)).toBe(1);
  const [late, next] = await Promise.allSettled([pool.run("ann", "loop"), pool.run("bob", 2)]);
  expect(late).toMatchObject({ status: "rejected", reason: { reason: "too long" } });
  expect(next).toEqual({ status: "fulfilled", value: 2 });
});

test("a job that breaks its worker is refused, and the next one has another", async () => {
  const pool = start();
  await expect(pool.run("ann", "throw")).rejects.toMatchObject({ reason: "broken" });
  expect(await pool.run("ann", 3)).toBe(3);
});

test("owners take turns, however many jobs one has", async () => {
  const pool = start();
  const order: string[] = [];
  const note = (owner: string): Promise<void> => pool.run(owner, 0).then(() => void order.push(owner));
  await Promise.all([note("ann"), note("ann"), note("ann"), note("bob")]);
  expect(order.indexOf("bob")).toBe(1);
});

test("one owner has one worker at a time, so that another finds one", async () => {
  const pool = start({ most: 2, deadlineMs: 2_000 });
  let hasEnded = false;
  const loop = pool.run("ann", "loop").finally(() => (hasEnded = true));
  const loops = Promise.allSettled([loop, pool.run("ann", "loop")]);
  expect(await pool.run("bob", 4)).toBe(4);
  expect(hasEnded).toBe(false);
  await loops;
}, 30_000);

test("who sends too many is refused", async () => {
  const pool = start();
  const jobs = Array.from({ length: 4 }, () => pool.run("ann", 0));
  await expect(pool.run("ann", 0)).rejects.toThrow("too many");
  await Promise.all(jobs);
});

test("a worker that has jobs again and again is kept", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const pool = start();
  const threadAfter = async (ms: number): Promise<unknown> => {
    vi.advanceTimersByTime(ms);
    const thread = await pool.run("ann", "id");
    // The worker rests after its answer.
    await new Promise((resolve) => setImmediate(resolve));
    return thread;
  };
  const first = await threadAfter(0);
  // Only the first rest has had its time when the third job comes.
  expect([await threadAfter(600), await threadAfter(600)]).toEqual([first, first]);
  expect(await threadAfter(1_100)).not.toBe(first);
});

test("jobs are refused where no worker can be started", async () => {
  const pool = new WorkerPool({ file: "no-path", most: 1, deadlineMs: 20_000, idleMs: 1_000, mostWaiting: 3 });
  const refused = { status: "rejected", reason: { reason: "too many" } };
  expect(await Promise.allSettled([pool.run("ann", 1), pool.run("bob", 2)])).toMatchObject([refused, refused]);
});
