// Events as they are written: one per object and reason, counted, never in a hurry.
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/object.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/errors.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";

const object: KubeObject = {
  apiVersion: "example.com/v1",
  kind: "Gadget",
  metadata: { name: "one", namespace: "team", uid: "uid-1", resourceVersion: "7" },
};
const crashed = { type: "Warning", reason: "Crashed", message: "exit status 7" } as const;

let stored: Map<string, KubeObject & { count?: number }>;
let requests: string[];
let halt: AbortController;
let recorder: EventRecorder;
let fault: Error | undefined;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  stored = new Map();
  requests = [];
  fault = undefined;
  halt = new AbortController();
  const now = (): Date => new Date("2026-01-01T00:00:00Z");
  recorder = createEventRecorder({ client: fakeClient(), log: pino({ level: "silent" }), signal: halt.signal, now });
});
afterEach(() => {
  halt.abort();
  vi.useRealTimers();
});

function fakeClient(): KubeClient {
  const answer = <T>(request: string, act: () => T): Promise<T> => {
    requests.push(request);
    return fault ? Promise.reject(fault) : Promise.resolve().then(act);
  };
  const client = {
    find: (_ref: object, key: { name: string }) => answer("find", () => stored.get(key.name)),
    get: (_ref: object, key: { name: string }) => answer("get", () => stored.get(key.name)),
    create: (_ref: object, event: KubeObject) =>
      answer("create", () => {
        if (stored.has(event.metadata.name)) throw new KubeError({ code: 409, reason: "AlreadyExists" });
        stored.set(event.metadata.name, event);
      }),
    patch: (_ref: object, key: { name: string }, { body }: { body: object }) =>
      answer("patch", () => void stored.set(key.name, { ...stored.get(key.name), ...body } as KubeObject)),
  };
  return client as unknown as KubeClient;
}

const events = (): unknown[] => [...stored.values()];

test("an Event names its object, its reason and who reports it", async () => {
  recorder.record(object, "gadgets", crashed);
  await recorder.flush();
  expect(events()).toMatchObject([
    {
      metadata: { namespace: "team", name: expect.stringMatching(/^one\.[0-9a-f]{16}$/) as string },
      involvedObject: { apiVersion: "example.com/v1", kind: "Gadget", name: "one", namespace: "team", uid: "uid-1" },
      ...crashed,
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      source: { component: "gadgets" },
    },
  ]);
});

test("a first Event takes one request, and one of another replica is counted on", async () => {
  recorder.record(object, "gadgets", crashed);
  await recorder.flush();
  expect(requests).toEqual(["create"]);
  const now = (): Date => new Date("2026-01-01T00:00:00Z");
  const other = createEventRecorder({ client: fakeClient(), log: pino({ level: "silent" }), signal: halt.signal, now });
  other.record(object, "gadgets", crashed);
  await other.flush();
  expect(events()).toMatchObject([{ count: 2 }]);
});

test("at most two Events are written at the same time, and each of many is written", async () => {
  let [open, most] = [0, 0];
  const create = async (): Promise<void> => {
    most = Math.max(most, ++open);
    await Promise.resolve();
    open--;
  };
  const client = { create } as unknown as KubeClient;
  const many = createEventRecorder({ client, log: pino({ level: "silent" }), signal: halt.signal });
  const created = vi.spyOn(client, "create");
  for (let at = 0; at < 20; at++)
    many.record({ ...object, metadata: { ...object.metadata, uid: `uid-${at}` } }, "gadgets", crashed);
  await many.flush();
  expect([most, created.mock.calls.length]).toEqual([2, 20]);
});

test("a series whose write waits or is under way queues no second one, and no occurrence is lost", async () => {
  const answers: (() => void)[] = [];
  const create = (_ref: object, event: KubeObject & { count: number }): Promise<void> =>
    new Promise((resolve) => {
      answers.push(() => resolve(void stored.set(event.metadata.name, event)));
    });
  const client = { ...fakeClient(), create } as unknown as KubeClient;
  const slow = createEventRecorder({ client, log: pino({ level: "silent" }), signal: halt.signal });
  const of = (at: number): KubeObject => ({ ...object, metadata: { ...object.metadata, uid: `uid-${at}` } });
  for (let interval = 0; interval < 5; interval++) {
    for (let at = 0; at < 4; at++) slow.record(of(at), "gadgets", crashed);
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(answers).toHaveLength(2);
  const flushed = slow.flush();
  for (let at = 0; at < 4; at++) {
    await vi.advanceTimersByTimeAsync(0);
    answers[at]?.();
  }
  await flushed;
  expect(answers).toHaveLength(4);
  expect([...stored.values()].map(({ count }) => count)).toEqual([5, 5, 5, 5]);
  expect(requests.toSorted()).toEqual(["find", "find", "patch", "patch"]);
});

test("a queue of more series than are remembered drops the further ones", async () => {
  let sent = 0;
  const create = (): Promise<void> => (sent++, answered.promise);
  const answered = Promise.withResolvers<void>();
  const client = { create } as unknown as KubeClient;
  const slow = createEventRecorder({ client, log: pino({ level: "silent" }), signal: halt.signal });
  for (let at = 0; at < 3_000; at++)
    slow.record({ ...object, metadata: { ...object.metadata, uid: `uid-${at}` } }, "gadgets", crashed);
  answered.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toBeLessThanOrEqual(2_002);
});

test("repetitions are counted, and written together after the interval", async () => {
  recorder.record(object, "gadgets", crashed);
  await vi.advanceTimersByTimeAsync(0);
  for (let at = 0; at < 5; at++) recorder.record(object, "gadgets", { ...crashed, message: `exit status ${at}` });
  expect(events()).toMatchObject([{ count: 1 }]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(events()).toMatchObject([{ count: 6, message: "exit status 4" }]);
  expect(requests).toEqual(["create", "find", "patch"]);
});

test("a flush writes the counts that wait, once", async () => {
  for (let at = 0; at < 3; at++) recorder.record(object, "gadgets", crashed);
  await recorder.flush();
  expect(events()).toMatchObject([{ count: 3 }]);
  const before = requests.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(before);
});

test("reasons and objects have Events of their own, cluster-scoped objects in default", async () => {
  recorder.record(object, "gadgets", crashed);
  recorder.record(object, "gadgets", { ...crashed, reason: "Recovered", type: "Normal" });
  recorder.record({ ...object, metadata: { name: "wide", uid: "uid-2" } }, "gadgets", crashed);
  await recorder.flush();
  expect([...stored.values()].map(({ metadata }) => metadata.namespace)).toEqual(["team", "team", "default"]);
});

test("an Event that cannot be written is dropped", async () => {
  fault = new KubeError({ status: "Failure", code: 403, reason: "Forbidden" });
  recorder.record(object, "gadgets", crashed);
  await recorder.flush();
  fault = undefined;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([events(), requests]).toEqual([[], ["create"]]);
});

test("nothing is written after the end", async () => {
  recorder.record(object, "gadgets", crashed);
  recorder.record(object, "gadgets", crashed);
  await vi.advanceTimersByTimeAsync(0);
  halt.abort();
  recorder.record(object, "gadgets", crashed);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(["create"]);
});
