// Names of internal domains, asked by a real resolver over UDP and TCP; and messages that no resolver sends.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Resolver } from "node:dns/promises";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isServing } from "../../../crds/lrp/serving-instances.ts";
import type { LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { toRouteAddresses } from "./addresses.ts";
import { readQuestion } from "./dns-message.ts";
import { startDNSServer, type DNSServer } from "./dns-server.ts";
import { resolve, type NamesView } from "./resolve.ts";

const running = (index: number, host: string | undefined, more: Partial<LrpInstance> = {}): LrpInstance =>
  ({ index, host, state: "Running", ready: true, ...more }) as LrpInstance;
const INSTANCES: Record<string, LrpInstance[]> = {
  "shop.apps.internal": [
    running(0, "10.244.0.5"),
    running(1, "10.244.0.6"),
    running(1, "fd00::1:6"),
    running(2, "10.244.0.7", { ready: false }),
    running(3, "10.244.0.8", { state: "Crashed" }),
    running(4, undefined),
  ],
  "stopped.apps.internal": [],
  "many.apps.internal": Array.from({ length: 150 }, (_, at) => running(at, `10.1.0.${at + 1}`)),
  "shop.stage.apps.internal": [running(0, "10.244.0.11")],
  "other.example.org": [running(0, "10.244.0.9")],
  "0.shop.apps.internal": [running(0, "10.244.9.9")],
};
const toBinding = (hostname: string): RouteBinding => ({ spec: { hostname } }) as RouteBinding;
const view: NamesView = {
  isSynced: () => true,
  hasDomain: (name) => ["apps.internal", "stage.apps.internal", "other.internal"].includes(name),
  findBinding: (hostname) =>
    hostname in INSTANCES && hostname !== "0.shop.apps.internal" ? toBinding(hostname) : undefined,
  findAddresses: ({ spec }) => toRouteAddresses((INSTANCES[spec.hostname] ?? []).filter(isServing)),
};

let state = view;
let server: DNSServer;
let turn = 0;
const resolver = new Resolver({ timeout: 5_000, tries: 1 });
const faults: unknown[] = [];

beforeAll(async () => {
  server = await startDNSServer({
    host: "127.0.0.1",
    port: 0,
    answer: (question) => resolve(question, state, turn),
    onError: (error) => faults.push(error),
  });
  resolver.setServers([`127.0.0.1:${server.port}`]);
});
afterAll(async () => {
  await server.close();
  expect(faults).toEqual([]);
});

test.each<[string, string[]]>([
  ["shop.apps.internal", ["10.244.0.5", "10.244.0.6"]],
  ["SHOP.apps.Internal", ["10.244.0.5", "10.244.0.6"]],
  ["0.shop.apps.internal", ["10.244.0.5"]],
  ["1.shop.apps.internal", ["10.244.0.6"]],
])("%s has the addresses %j", async (name, addresses) => {
  expect((await resolver.resolve4(name)).toSorted()).toEqual(addresses);
});

test.each([
  ["an instance that is not ready", "2.shop.apps.internal", "ENOTFOUND"],
  ["a crashed one", "3.shop.apps.internal", "ENOTFOUND"],
  ["an index that is not there", "9.shop.apps.internal", "ENOTFOUND"],
  ["a name below an index", "a.0.shop.apps.internal", "ENOTFOUND"],
  ["an app without instances, whose name exists", "stopped.apps.internal", "ENODATA"],
  ["the domain itself", "apps.internal", "ENODATA"],
  ["an unknown name", "none.apps.internal", "ENOTFOUND"],
  ["a name that no internal domain has", "other.example.org", "EREFUSED"],
  ["a name that only ends like one", "xapps.internal", "EREFUSED"],
])("%s: %s is %s", async (_what, name, code) => {
  await expect(resolver.resolve4(name)).rejects.toMatchObject({ code });
});

test("addresses of IPv6 are answers of their own, and their want is no want of the name", async () => {
  expect(await resolver.resolve6("shop.apps.internal")).toEqual(["fd00::1:6"]);
  await expect(resolver.resolve6("0.shop.apps.internal")).rejects.toMatchObject({ code: "ENODATA" });
  await expect(resolver.resolveTxt("shop.apps.internal")).rejects.toMatchObject({ code: "ENODATA" });
});

const header = (flags: number, questions: number): number[] => [
  7,
  7,
  flags >> 8,
  flags & 255,
  0,
  questions,
  0,
  0,
  0,
  0,
  0,
  0,
];
const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);

async function askUDP(name: string, type = 1): Promise<Buffer> {
  const socket = createSocket("udp4");
  try {
    const message = once(socket, "message", { signal: AbortSignal.timeout(5_000) }) as Promise<[Buffer]>;
    const question = Buffer.concat([Buffer.from(header(0x100, 1)), encodeName(name), Buffer.from([0, type, 0, 1])]);
    socket.send(question, server.port, "127.0.0.1");
    return (await message)[0];
  } finally {
    socket.close();
  }
}

test("an answer that is longer than a packet has the addresses that fit, and says that there are more", async () => {
  const answer = await askUDP("many.apps.internal");
  expect((answer[2] ?? 0) & 2).toBe(2);
  const count = answer.readUInt16BE(6);
  expect(count).toBe(Math.floor((512 - 12 - "many.apps.internal".length - 2 - 4) / 16));
  expect(answer.length).toBe(12 + "many.apps.internal".length + 2 + 4 + 16 * count);
});

test("a missing name belongs to the longest internal domain that has it", async () => {
  const answer = await askUDP("none.stage.apps.internal");
  // The owner of the SOA follows the question.
  const zone = encodeName("stage.apps.internal");
  const at = 12 + encodeName("none.stage.apps.internal").length + 4;
  expect(answer.subarray(at, at + zone.length)).toEqual(zone);
});

test("more addresses than a packet has go over TCP, a hundred at most, each answer from another one on", async () => {
  const first = await resolver.resolve4("many.apps.internal");
  expect(first).toHaveLength(100);
  turn = 1;
  expect(await resolver.resolve4("many.apps.internal")).not.toEqual(first);
});

test("before the caches are filled no name is said to be missing", async () => {
  const notSynced = () => {
    throw new Error("not synced");
  };
  state = { isSynced: () => false, hasDomain: notSynced, findBinding: notSynced, findAddresses: notSynced };
  await expect(resolver.resolve4("none.apps.internal")).rejects.toMatchObject({ code: "ESERVFAIL" });
  state = view;
});

test("an answer that cannot be given is SERVFAIL, and the server goes on", async () => {
  state = {
    ...view,
    hasDomain: () => {
      throw new Error("parked");
    },
  };
  await expect(resolver.resolve4("shop.apps.internal")).rejects.toMatchObject({ code: "ESERVFAIL" });
  state = view;
  expect(faults.splice(0)).toMatchObject([{ message: "parked" }]);
  expect(await resolver.resolve4("0.shop.apps.internal")).toEqual(["10.244.0.5"]);
});

test("an address that no answer can have is SERVFAIL, and the server goes on", async () => {
  state = { ...view, findAddresses: () => toRouteAddresses([running(0, "1:2:3:4:5:6:7:8:9")].filter(isServing)) };
  await expect(resolver.resolve6("shop.apps.internal")).rejects.toMatchObject({ code: "ESERVFAIL" });
  state = view;
  expect(faults.splice(0)).toHaveLength(1);
  expect(await resolver.resolve6("shop.apps.internal")).toEqual(["fd00::1:6"]);
});

test.each<[string, number[], string | undefined]>([
  ["nothing", [], undefined],
  ["half a header", [7, 7, 1], undefined],
  ["an answer, which gets none", [...header(0x8000, 1), 0, 0, 1, 0, 1], undefined],
  ["no question", header(0, 0), "1"],
  ["two questions", [...header(0, 2), 0, 0, 1, 0, 1, 0, 0, 1, 0, 1], "1"],
  ["a name that points at itself", [...header(0, 1), 0xc0, 12, 0, 1, 0, 1], "1"],
  ["a label beyond the end", [...header(0, 1), 63, 65], "1"],
  ["a name without an end", [...header(0, 1), ...Array<number>(400).fill(1)], "1"],
  ["a question without a type", [...header(0, 1), 1, 97, 0], "1"],
  ["an update", [...header(0x2800, 1), 1, 97, 0, 0, 1, 0, 1], "4"],
  ["a class that is not the Internet's", [...header(0, 1), 1, 97, 0, 0, 1, 0, 3], "5"],
])("%s: answered by the code %s", async (_what, bytes, code) => {
  const socket = createSocket("udp4");
  try {
    const message = once(socket, "message", { signal: AbortSignal.timeout(5_000) }) as Promise<[Buffer]>;
    socket.send(Buffer.from(bytes), server.port, "127.0.0.1");
    // A question that is answered comes after it, so silence needs no wait.
    if (code === undefined) socket.send(Buffer.from(header(0, 0)), server.port, "127.0.0.1");
    const [answer] = await message;
    expect([...answer.subarray(0, 2)]).toEqual([7, 7]);
    expect(String((answer[3] ?? 0) & 15)).toBe(code ?? "1");
    expect(readQuestion(answer)).toBeUndefined();
  } finally {
    socket.close();
  }
});

test("a TCP client that sends no question is left", async () => {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(Buffer.from([0, 3, 1, 2, 3]));
  await once(socket, "close", { signal: AbortSignal.timeout(10_000) });
});
