// The stock cf's traffic, recorded once and sent again to a fresh platform: every answer must be as it was, also where there is no cf.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokenOf } from "./support/api.ts";
import { recordCf, SOURCE } from "./support/cf-recorder.ts";
import { makeForm, zipOf } from "./cf-traffic/form.ts";
import { onNode } from "./cf-traffic/places.ts";
import { fill, match, type Bindings, type Difference } from "./cf-traffic/match.ts";
import { chosenReplay } from "./cf-recording/chosen-replay.ts";
import { describeReplay } from "./cf-recording/replay-cases.ts";
import { readTraffic, writeTraffic, type RecordedAnswer, type RecordedExchange } from "./cf-traffic/traffic.ts";
import { whyNoCf } from "./support/cf.ts";
import { eventually } from "../eventually.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const GOLDEN = join(import.meta.dirname, "cf-traffic.golden.json");

/** A build, and the start of an instance, on a busy machine or in pods. */
const READ_MS = 150_000;
/** Several of them. */
const COMMAND_MS = 400_000;

const isRecording = Boolean(process.env["UPDATE_GOLDEN"]) && !whyNoCf();

describe.runIf(isRecording)("recording cf", () => {
  test("the whole list", { timeout: 600_000 }, async () => {
    const stage = await startTestPlatform();
    try {
      writeTraffic(GOLDEN, await recordCf(stage, process.env["CF_BIN"] ?? "cf"));
    } finally {
      await stage.stop();
    }
  });
});

describe.skipIf(isRecording)("the recorded traffic of cf", () => {
  let stage: TestPlatform;
  let token: string;
  let bindings: Bindings;
  /** The command that failed, by its place in the list: later ones rest on it. */
  let broken: number | undefined;

  beforeAll(async () => {
    stage = await startTestPlatform();
    token = tokenOf(stage, "admin");
    bindings = new Map([["url", stage.url]]);
  });
  afterAll(() => stage?.stop());

  async function send({ method, path, body, form, contentType }: RecordedExchange["request"]): Promise<RecordedAnswer> {
    const answer = await request(`${stage.url}${fill(path, bindings)}`, {
      method: method as "GET",
      headers: { authorization: `bearer ${token}`, ...(contentType && { "content-type": contentType }) },
      ...(body !== undefined && {
        body: typeof body === "string" ? fill(body, bindings) : JSON.stringify(fill(body, bindings)),
      }),
      ...(form && { body: await makeForm(form, () => zipOf(SOURCE)) }),
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers as Record<string, string>, body: parse(text) };
  }

  /** Sends it once. What its answer says of names not met before is kept when the answer is right. */
  async function replay({ request: asked, answer }: RecordedExchange): Promise<Difference[]> {
    const found = await send(asked);
    const learnt = new Map(bindings);
    const headers = Object.fromEntries(Object.keys(answer.headers).map((name) => [name, found.headers[name]]));
    const differences = [
      ...match(answer.status, found.status, learnt, "status"),
      ...match(answer.headers, headers, learnt, "headers"),
      ...match(answer.body, found.body, learnt),
    ];
    if (differences.length === 0) bindings = learnt;
    return differences;
  }

  const commands = existsSync(GOLDEN) ? readTraffic(GOLDEN) : [];
  for (const [at, { command, exchanges }] of commands.entries()) {
    test(`cf ${command}`, { timeout: COMMAND_MS }, async (context) => {
      // The command that failed may be tried again.
      if (broken !== undefined && broken !== at) context.skip(`cf ${commands[broken]?.command} failed before it`);
      broken = at;
      for (const recorded of exchanges) {
        const exchange = stage.on === "node" ? onNode(recorded) : recorded;
        const { method, path } = exchange.request;
        const once = async (): Promise<void> => expect(await replay(exchange), `${method} ${path}`).toEqual([]);
        // A read may need a moment to be right; a write is answered at once.
        await (method === "GET" ? eventually(once, READ_MS) : once());
      }
      broken = undefined;
    });
  }

  // Its last command has deleted the org that the cases make. On a node they are a journey of their own, cf-replay-all.
  if (chosenPlatformKind() === "laptop")
    describeReplay(() => stage, chosenReplay({ fewest: process.env["CUPOLA_REPLAY"] === "fewest" }));

  test("the recording exists", () => {
    expect(existsSync(GOLDEN), GOLDEN).toBe(true);
  });
});

function parse(text: string): RecordedAnswer["body"] {
  try {
    return JSON.parse(text) as RecordedAnswer["body"];
  } catch {
    return text;
  }
}
