// No request of a mebibyte holds the event loop, whoever sends it: generated bodies and queries at the API and the embedded API server, which share one loop.
import { Agent, request, type Dispatcher } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChild, type Child } from "../../bench/child-process.ts";
import { randomFrom } from "../../random.ts";
import type { Things } from "../capi/role-requests.ts";
import { type OpenApiDocument, targetsOf } from "../fuzz-api/openapi.ts";
import {
  apiRequests,
  clusterRequests,
  type HostileRequest,
  queryRequests,
  uploadRequests,
} from "./hostile-requests.ts";

/** In the thread's processor time. Nearly all take less than 50 ms on a quiet machine; one under load computes more slowly. */
const MOST_MS = 100;
/** A collection of garbage or a compilation may fall into any request; into all of a few it does not. */
const TRIES = 4;
/** Sample of each sort of request; all of them with CUPOLA_HOSTILE=all, for a quarter of an hour. */
const SAMPLE = process.env["CUPOLA_HOSTILE"] === "all" ? Infinity : 60;
const SEED = Number(process.env["CUPOLA_SEED"] ?? 7);

interface Places {
  api: string;
  cluster: { url: string; ca: string };
  things: Things;
  app: { metadata: { name: string; namespace: string }; spec: object };
  openapi: OpenApiDocument;
}

let world: Child;
let places: Places;
let agent: Agent;

beforeAll(async () => {
  world = startChild(`${import.meta.dirname}/world-process.ts`, {});
  places = await world.request<Places>("places");
  agent = new Agent({ connect: { ca: places.cluster.ca } });
}, 120_000);
afterAll(async () => {
  await agent?.close();
  await world?.stop();
});

/** How long the loop was held at a time while it was answered, milliseconds. */
async function send({ at, person, method, path, type, body }: HostileRequest): Promise<{ ms: number; status: number }> {
  await world.request("longest");
  const { statusCode, body: answer } = await request((at === "api" ? places.api : places.cluster.url) + path, {
    method: method as Dispatcher.HttpMethod,
    dispatcher: agent,
    headers: { authorization: `bearer ${person}-token`, ...(type !== undefined && { "content-type": type }) },
    ...(body !== undefined && { body: body() }),
    headersTimeout: 150_000,
  });
  await answer.dump({ limit: Infinity });
  return { ms: await world.request<number>("longest"), status: statusCode };
}

async function findBlock(one: HostileRequest): Promise<string | undefined> {
  let shortest = Infinity;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const { ms } = await send(one);
    shortest = Math.min(shortest, ms);
    if (shortest <= MOST_MS) return undefined;
  }
  return `${Math.round(shortest)} ms: ${one.what}`;
}

function sample(all: readonly HostileRequest[]): readonly HostileRequest[] {
  const random = randomFrom(SEED);
  if (all.length <= SAMPLE) return all;
  return all.filter(() => random() < SAMPLE / all.length);
}

async function expectNoBlock(all: readonly HostileRequest[]): Promise<void> {
  expect(all.length).toBeGreaterThan(0);
  const blocks: string[] = [];
  for (const one of sample(all)) {
    const block = await findBlock(one);
    if (block !== undefined) blocks.push(block);
  }
  expect(blocks).toEqual([]);
}

const TIMEOUT_MS = SAMPLE === Infinity ? 3_600_000 : 240_000;

test("manifests", { timeout: TIMEOUT_MS }, async () => {
  const targets = targetsOf(places.openapi).filter(({ media }) => media?.includes("yaml"));
  await expectNoBlock(targets.flatMap((target) => apiRequests(target, places.things)));
});

test("JSON bodies at the API", { timeout: TIMEOUT_MS }, async () => {
  const targets = targetsOf(places.openapi).filter(({ media }) => media?.includes("json"));
  await expectNoBlock(targets.flatMap((target) => apiRequests(target, places.things)));
});

test("queries at the API", { timeout: TIMEOUT_MS }, async () => {
  await expectNoBlock(targetsOf(places.openapi).flatMap((target) => queryRequests(target, places.things)));
});

test("uploads", { timeout: TIMEOUT_MS }, async () => {
  await expectNoBlock(uploadRequests(places.things["empty-packages"] ?? ""));
});

test(
  "reviews of anybody, and objects of a developer, at the embedded API server",
  { timeout: TIMEOUT_MS },
  async () => {
    await expectNoBlock(clusterRequests(places.app));
  },
);
