// Audit events become few writes, and survive failures of the API server.
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { MAX_SEGMENT_EVENTS, type AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { createAuditWriter, type AuditWriterDeps } from "./audit-writer.ts";

const log = pino({ level: "silent" });
const event = (guid: number | string): AuditEvent => ({ guid: String(guid) }) as AuditEvent;

/** An API server that keeps segments in memory; `fail` may throw instead. */
function fakeServer() {
  const segments = new Map<string, string[]>();
  const fault: { next?: number | undefined; refused?: string } = {};
  let writes = 0;
  const answer = (events: readonly AuditEvent[]): void => {
    writes++;
    const { next, refused } = fault;
    if (events.some(({ guid }) => guid === refused)) throw new KubeError({ code: 422, reason: "Invalid" });
    fault.next = undefined;
    if (next !== undefined) throw new KubeError({ code: next });
  };
  const client = {
    create: (
      _ref: unknown,
      { metadata, spec }: { metadata: { namespace: string; name: string }; spec: { events: AuditEvent[] } },
    ) => {
      answer(spec.events);
      segments.set(
        `${metadata.namespace}/${metadata.name}`,
        spec.events.map(({ guid }) => guid),
      );
      return Promise.resolve({});
    },
    patch: (_ref: unknown, key: { namespace: string; name: string }, { body }: { body: { value: AuditEvent }[] }) => {
      answer(body.map(({ value }) => value));
      const segment = segments.get(`${key.namespace}/${key.name}`);
      if (!segment) throw new KubeError({ code: 404 });
      segment.push(...body.map(({ value }) => value.guid));
      return Promise.resolve({});
    },
  } as unknown as AuditWriterDeps["client"];
  return { client, segments, fault, writes: () => writes, lists: () => [...segments.values()] };
}

const start = (server: ReturnType<typeof fakeServer>) =>
  createAuditWriter({ client: server.client, writer: "api-0", log, intervalMs: 20 });

test("events of a namespace are appended to one segment, in few writes", async () => {
  const server = fakeServer();
  const writer = start(server);
  for (let at = 0; at < 50; at++) writer.record("dev", event(at));
  await vi.waitFor(() => expect(server.lists()).toHaveLength(1));
  for (let at = 50; at < 60; at++) writer.record("dev", event(at));
  await writer.close();
  expect(server.lists()).toEqual([Array.from({ length: 60 }, (_, at) => String(at))]);
  expect(server.writes()).toBe(2);
});

test("events recorded while others are written wait for the next flush", async () => {
  const server = fakeServer();
  const begun: string[][] = [];
  const answers: (() => void)[] = [];
  const create: typeof server.client.create = async (...given) => {
    begun.push((given[1] as unknown as { spec: { events: AuditEvent[] } }).spec.events.map(({ guid }) => guid));
    await new Promise<void>((resolve) => answers.push(resolve));
    return server.client.create(...given);
  };
  const client = { ...server.client, create } as AuditWriterDeps["client"];
  // An interval that does not end within this test.
  const writer = createAuditWriter({ client, writer: "api-0", log, intervalMs: 600_000 });
  writer.record("dev", event(1));
  writer.record("dev", event(2));
  await vi.waitFor(() => expect(begun).toEqual([["1", "2"]]));
  writer.record("dev", event(3));
  answers[0]?.();
  await vi.waitFor(() => expect(server.lists()).toEqual([["1", "2"]]));
  // Whatever a flush does after its write, it does in the microtasks that follow.
  await new Promise((resolve) => setImmediate(resolve));
  expect(server.writes()).toBe(1);
  await writer.close();
  expect(server.lists()).toEqual([["1", "2", "3"]]);
});

test("a full segment is followed by another", async () => {
  const server = fakeServer();
  const writer = start(server);
  for (let at = 0; at < MAX_SEGMENT_EVENTS + 1; at++) writer.record("dev", event(at));
  await vi.waitFor(() => expect(server.lists().map(({ length }) => length)).toEqual([MAX_SEGMENT_EVENTS, 1]));
  await writer.close();
});

test("events wait for an API server that does not answer, and are written after it", async () => {
  const server = fakeServer();
  const writer = start(server);
  server.fault.next = 503;
  writer.record("dev", event(1));
  writer.record("dev", event(2));
  await vi.waitFor(() => expect(server.lists()).toEqual([["1", "2"]]));
  expect(server.writes()).toBe(2);
  await writer.close();
});

test("a segment that was removed is replaced", async () => {
  const server = fakeServer();
  const writer = start(server);
  writer.record("dev", event(1));
  await vi.waitFor(() => expect(server.lists()).toEqual([["1"]]));
  server.segments.clear();
  writer.record("dev", event(2));
  await writer.close();
  expect(server.lists()).toEqual([["2"]]);
});

test.each([403, 404])("events of a namespace that answers %i are dropped, the others are written", async (code) => {
  const server = fakeServer();
  const writer = start(server);
  server.fault.next = code;
  writer.record("gone", event(1));
  writer.record("dev", event(2));
  await writer.close();
  expect(server.lists()).toEqual([["2"]]);
});

test.each(["0", "70", "99"])(
  "of a hundred events only the one that the API server refuses is lost: %s",
  async (refused) => {
    const server = fakeServer();
    server.fault.refused = refused;
    const writer = start(server);
    for (let at = 0; at < 100; at++) writer.record("dev", event(at));
    await writer.close();
    const all = Array.from({ length: 100 }, (_, at) => String(at));
    expect(server.lists().flat()).toEqual(all.filter((guid) => guid !== refused));
    expect(server.writes()).toBeLessThan(30);
  },
);
