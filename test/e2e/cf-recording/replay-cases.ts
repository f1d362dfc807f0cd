// Sends the requests of recorded cases again: what is answered is as it was, and the states that cf waited for come.
import { request, type FormData } from "undici";
import { beforeAll, describe, expect, test } from "vitest";
import { makeForm } from "../cf-traffic/form.ts";
import { bodyOnNode } from "../cf-traffic/places.ts";
import { fill, match, type Difference } from "../cf-traffic/match.ts";
import type { FormPart, RecordedRequest, Template } from "../cf-traffic/traffic.ts";
import { eventually } from "../../eventually.ts";
import { chosenPlatformKind } from "../support/start-test-platform.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import { namesOfCasesAlone } from "./case-names.ts";
import type { Replay, ReplayedCase, ReplayedExchange } from "./replay-file.ts";
import { makeWorld, type World } from "./replay-world.ts";
import { makeContent } from "./upload-content.ts";

/** Files may be known already. */
const UNLIKE = /^\/v3\/resource_matches$/;
/** Longest time of a state that cf waits for, on a busy machine. */
const READ_MS = 120_000;
const CASE_MS = 400_000;

/** A test for each case of the recording, on a laptop's or a node's platform that has the org of the cases not yet; those that may run at the same time do. */
export function describeReplay(stage: () => TestPlatform, replay: Replay): void {
  describe.skipIf(chosenPlatformKind() === "cluster")("recorded cases", () => {
    const alone = namesOfCasesAlone();
    let world: World;
    beforeAll(async () => {
      world = await makeWorld(stage(), replay.uploads);
    });
    const [beside, after] = [false, true].map((isAlone) =>
      replay.cases.filter(({ name }) => alone.has(name) === isAlone),
    );
    describe("beside each other", { concurrent: true }, () => replayEach(beside ?? [], replay, () => world));
    describe("alone", () => replayEach(after ?? [], replay, () => world));
  });
}

function replayEach(cases: readonly ReplayedCase[], { uploads }: Replay, world: () => World): void {
  for (const { name, own, exchanges } of cases)
    test(name, { timeout: CASE_MS }, async ({ task }) => {
      // Objects of an earlier run are still there.
      const attempt = task.result?.retryCount ?? 0;
      let names: ReadonlyMap<string, string> = new Map(world().names).set("own", attempt ? `${own}-${attempt}` : own);
      for (const exchange of exchanges) names = await replayOne(world(), exchange, { names, uploads });
    });
}

interface Known extends Pick<Replay, "uploads"> {
  names: ReadonlyMap<string, string>;
}

/** @returns the names that are known after it */
async function replayOne(world: World, exchange: ReplayedExchange, known: Known): Promise<ReadonlyMap<string, string>> {
  const { method, path } = exchange.request;
  let learnt = new Map<string, string>();
  const once = async (): Promise<void> => {
    const found = await send(world, exchange, known);
    learnt = new Map(known.names);
    expect(differencesOf(exchange, found, learnt), `${method} ${fill(path, known.names)}`).toEqual([]);
  };
  // A read may need a moment to be right; a write is answered at once.
  await (method === "GET" ? eventually(once, READ_MS) : once());
  return learnt;
}

interface Answer {
  status: number;
  location: string;
  body: unknown;
}

function differencesOf(
  { request: { path }, status, body: recorded, location }: ReplayedExchange,
  found: Answer,
  learnt: Map<string, string>,
): Difference[] {
  if (found.status !== status) return [{ at: "status", expected: status, found: found.body }];
  const body = chosenPlatformKind() === "node" ? bodyOnNode(path, recorded) : recorded;
  const ofBody = match(body, found.body, learnt);
  return [
    ...(location === undefined ? [] : match(location, found.location, learnt, "location")),
    ...(UNLIKE.test(path) && status < 400 ? [] : ofBody),
  ];
}

async function send({ url, tokens }: World, exchange: ReplayedExchange, known: Known): Promise<Answer> {
  const { as, request: asked } = exchange;
  const token = as && tokens[as];
  const { contentType } = asked;
  const body = await bodyOf(asked, known);
  const answer = await request(`${url}${fill(asked.path, known.names)}`, {
    method: asked.method as "GET",
    headers: {
      ...(token && { authorization: `bearer ${token}` }),
      ...(contentType && { "content-type": contentType }),
    },
    ...(body !== undefined && { body }),
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return {
    status: answer.statusCode,
    location: String(answer.headers["location"] ?? ""),
    body: /^<bytes-/.test(String(exchange.body)) ? bytes.toString("latin1") : parse(bytes.toString()),
  };
}

async function bodyOf({ body, form }: RecordedRequest, known: Known): Promise<string | FormData | undefined> {
  if (form) return await makeForm(form, (part) => contentOf(part, known));
  if (body === undefined) return undefined;
  const filled: Template = fill(body, known.names);
  return typeof filled === "string" ? filled : JSON.stringify(filled);
}

async function contentOf({ content = "" }: FormPart, { names, uploads }: Known): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = names.get(content.replaceAll(/[<>]/g, ""));
  if (bytes !== undefined) return new Uint8Array(Buffer.from(bytes, "latin1"));
  const upload = uploads[content];
  if (!upload) throw new Error(`no upload ${content} in the recording`);
  return await makeContent(upload);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
