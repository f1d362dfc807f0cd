// How long an operation may take: as the plan says, whatever it waits for, and what is left of it then.
import { expect, test } from "vitest";
import type { LastOperation, PendingOperation } from "../../../crds/service-instance/managed-fields.ts";
import { NotReady, type ReconcileContext } from "../../../kube/controller/controller.ts";
import { createBrokerMemory } from "./broker-memory.ts";
import { createBrokerPace } from "./broker-pace.ts";
import { createInstanceTurns } from "./instance-turns.ts";
import { mitigate } from "./mitigation.ts";
import { nextPollMs } from "./operation-status.ts";
import { ask, poll } from "./operation.ts";
import { toOutcome } from "./outcomes.ts";
import type { Provided } from "./provided.ts";
import { removeAtBroker } from "./removal.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const time = (seconds: number): string => new Date(START + seconds * 1000).toISOString();

const BROKER = {
  metadata: { namespace: "cupola-system", name: "there" },
  spec: { url: "http://127.0.0.1:1", credentialsSecretRef: { name: "s" } },
};

/** State of an operation whose broker is gone unless given, after so many seconds of at most 100. */
function workOf(
  seconds: number,
  [type, state]: [LastOperation["type"], LastOperation["state"]],
  { operation, wish, broker }: { operation?: PendingOperation; wish?: string; broker?: object } = {},
): Provided {
  const request = () => ({ method: "GET" as const, path: "/" });
  return {
    object: { metadata: { name: "db" } } as Provided["object"],
    guid: "g",
    instanceGUID: "g",
    provided: { brokerRef: { namespace: "cupola-system", name: "gone" }, offeringID: "o", planID: "p" },
    last: { type, state, description: "", createdAt: time(0), updatedAt: time(0) },
    operation,
    maximumSeconds: 100,
    wish,
    removal: "deprovision",
    requests: { poll: request, remove: request },
    context: {
      read: { find: () => broker },
      now: () => new Date(START + seconds * 1000),
    } as unknown as ReconcileContext,
    pace: createBrokerPace(),
    turns: createInstanceTurns(),
    memory: createBrokerMemory(),
    apiInfo: "https://api.example/v2/info",
  };
}

const asking = (toRequest: () => Promise<{ method: "PUT"; path: string }>) => ({
  toRequest,
  toOutcome: () => ({ kind: "done", body: {}, description: "" }) as const,
  keep: () => Promise.resolve({}),
  adopt: () => Promise.reject(new Error("nothing was restored")),
});
const request = asking(() => Promise.resolve({ method: "PUT", path: "/" }));

test("a broker that is gone is waited for, but not for ever", async () => {
  expect(await ask(workOf(50, ["create", "initial"]), "provision", request)).toMatchObject({
    status: { lastOperation: { state: "initial" }, operation: { attempts: 1 } },
    requeueAfterMs: 2000,
  });
  expect(await ask(workOf(101, ["create", "initial"]), "provision", request)).toMatchObject({
    status: {
      lastOperation: {
        state: "failed",
        description: expect.stringMatching(/^Service Broker failed to provision within the required time/) as string,
      },
      operation: { isOrphan: true },
    },
    conditions: [{ type: "Orphaned", status: "True" }],
  });
});

test("what a request needs is waited for, but not for ever", async () => {
  const missing = asking(() => Promise.reject(new NotReady("ParametersMissing", "no Secret")));
  const create = (seconds: number): Provided => workOf(seconds, ["create", "initial"], { broker: BROKER });
  await expect(ask(create(50), "provision", missing)).rejects.toThrow("no Secret");
  const failed = await ask(create(101), "provision", missing);
  expect(failed.status).toMatchObject({ lastOperation: { state: "failed" } });
  const busy = asking(() => Promise.reject(new NotReady("InstanceBusy", "another request is under way")));
  await expect(ask(create(101), "provision", busy)).rejects.toThrow("another request is under way");
});

test.each(["broker", "instance"])(
  "who waits for other requests of the %s reads no parameters meanwhile",
  async (busy) => {
    const work = workOf(50, ["create", "initial"], { broker: BROKER });
    const unread = asking(() => Promise.reject(new Error("they were read")));
    const pace = createBrokerPace({ broker: 0, space: 0, pool: 0 });
    const others = Promise.withResolvers<void>();
    const underWay = busy === "instance" ? work.turns.run("g", () => others.promise) : undefined;
    await expect(ask(busy === "broker" ? { ...work, pace } : work, "provision", unread)).rejects.toThrow("retrying");
    others.resolve();
    await underWay;
  },
);

test.each<[number, string | undefined, string]>([
  [50, undefined, "in progress"],
  [101, undefined, "failed"],
  // The broker's time begins when it has taken the request.
  [101, time(50), "in progress"],
  [151, time(50), "failed"],
])("after %i s an update that was taken at %s is %s", async (seconds, at, state) => {
  const operation = { ...(at !== undefined && { at }) };
  const result = await poll(workOf(seconds, ["update", "in progress"], { operation }), {
    fetch: () => Promise.reject(new Error("not asked")),
    keep: () => Promise.resolve({}),
  });
  expect(result.status).toMatchObject({ lastOperation: { state } });
});

test.each<[number, object, object]>([
  [0, {}, { lastOperation: { state: "failed" }, operation: { attempts: 1 } }],
  [30, { operation: { attempts: 3 } }, {}],
  [90, { operation: { attempts: 3 } }, { lastOperation: { state: "failed" }, operation: { attempts: 4 } }],
  [30, { operation: { attempts: 3 }, wish: "again" }, { operation: { attempts: 4, wish: "again" } }],
  [30, { operation: { attempts: 3, wish: "again" }, wish: "again" }, {}],
])("after %i s a deletion that failed before, %o, has status %o", async (seconds, more, status) => {
  const waiting = await removeAtBroker(workOf(seconds, ["delete", "failed"], more));
  expect(waiting?.ready).toMatchObject({ status: "False" });
  expect(waiting?.status ?? {}).toMatchObject(status);
  if (Object.keys(status).length === 0) expect(waiting?.status).toBeUndefined();
});

test("an unfinished deletion has failed at its end", async () => {
  const work = workOf(101, ["delete", "in progress"]);
  expect(await removeAtBroker(work)).toMatchObject({ status: { lastOperation: { state: "failed" } } });
});

test("a wish that came while the broker was at a deletion is heard when that has failed", async () => {
  const work = workOf(101, ["delete", "in progress"], { operation: { wish: "first" }, wish: "second" });
  expect(await removeAtBroker(work)).toMatchObject({ status: { operation: { attempts: 1, wish: "first" } } });
});

test("mitigation goes on, however often it has failed", async () => {
  const operation = { isOrphan: true, attempts: 40, at: time(0) };
  expect((await mitigate(workOf(3000, ["create", "failed"], { operation }))).requeueAfterMs).toBe(600_000);
  expect(await mitigate(workOf(3601, ["create", "failed"], { operation }))).toMatchObject({
    status: { operation: { isOrphan: true, attempts: 41 } },
    conditions: [
      { type: "Orphaned", status: "True", message: expect.stringMatching(/attempt 41 has failed/) as string },
    ],
  });
});

test("a broker that wants to be asked after its time is asked at the end of it", () => {
  const bound = { since: time(0), maximumSeconds: 100 };
  expect([10, 1000].map((after) => nextPollMs(bound, after, new Date(START + 40_000)))).toEqual([10_000, 61_000]);
});

/** The next step of a creation. */
function create(work: Provided): Promise<unknown> {
  if (work.last?.state === "initial")
    return ask(work, "provision", { ...request, toOutcome: (answer) => toOutcome("provision", answer) });
  const unread = () => Promise.reject(new Error("it is not done"));
  return poll(work, { fetch: unread, keep: unread });
}

test.each<[LastOperation["type"], LastOperation["state"], PendingOperation, (work: Provided) => Promise<unknown>]>([
  ["create", "initial", {}, create],
  ["delete", "initial", {}, removeAtBroker],
  ["create", "failed", { isOrphan: true, attempts: 0 }, mitigate],
])("the broker is first asked about a %s (%s) that it has taken when it wants to be", async (...row) => {
  const [type, state, operation, step] = row;
  const asking = workOf(10, [type, state], { operation });
  const answer = { kind: "answer", status: 202, body: {}, retryAfterSeconds: 30 } as const;
  const asked = step === create ? "provision" : "deprovision";
  const name = [asked, "g", time(0), operation.attempts, undefined].join(" ");
  asking.memory.keepAnswer(name, answer, asking.context.now());
  const { status } = (await step(asking)) as {
    status: { lastOperation?: LastOperation; operation: PendingOperation };
  };
  const after = workOf(20, [type, state], status);
  const waiting = { ...after, last: status.lastOperation ?? after.last, memory: asking.memory };
  expect(await step(waiting)).toMatchObject({ requeueAfterMs: 20_000 });
});
