// Which lines of an app's log are those of its build, whatever the clocks say.
import { expect, test } from "vitest";
import type { ApiClient } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { stage } from "./stage.ts";

type Line = { at: number; text: string; source?: string };
const app = { guid: "app-1", name: "shop" };
const now = Date.UTC(2026, 10, 22, 12, 0, 0, 400);

const toEnvelope = ({ at, text, source = "STG" }: Line): object => ({
  timestamp: String(BigInt(at) * 1_000_000n),
  tags: { source_type: source },
  log: { payload: Buffer.from(text).toString("base64") },
});

/** A platform whose builds log their first line before the answer to POST /v3/builds. `at` is its clock. */
function platformAt(at: number, log: Line[], failingReads = 0): ApiClient {
  let failing = failingReads;
  const answers: Record<string, () => object> = {
    "POST /v3/builds": () => {
      log.push({ at, text: "first line" }, { at: at + 1, text: "second line" });
      return { guid: "b", created_at: new Date(at).toISOString().replace(/\.\d+/, "") };
    },
    "GET /v3/builds/b": () => ({ guid: "b", state: "STAGED", droplet: { guid: "d" } }),
  };
  const read = (query: Record<string, string>): object => {
    if (failing-- > 0) throw new Failure("the API answered 503");
    const found = log.filter((line) => BigInt(line.at) * 1_000_000n >= BigInt(query["start_time"] ?? 0));
    return { envelopes: { batch: (query["descending"] ? found.toReversed() : found).map(toEnvelope) } };
  };
  const request = async (method: string, path: string, more?: { query?: Record<string, string> }): Promise<object> => {
    await Promise.resolve();
    return path.startsWith("/api/v1/read/") ? read(more?.query ?? {}) : answers[`${method} ${path}`]!();
  };
  return { request } as unknown as ApiClient;
}

async function linesOf(api: ApiClient): Promise<string[]> {
  const lines: string[] = [];
  const progress = { line: (line: string) => lines.push(line), step: (line: string) => lines.push(line) };
  const context = { api, progress, target: { api: "http://localhost:8080" } } as unknown as Context;
  expect(await stage(context, app, { packageGuid: "p", setsDroplet: false })).toBe("d");
  return lines;
}

const minute = 60_000;
test.each([
  ["as ours", 0],
  ["a moment behind ours", -300],
  ["far behind ours", -minute],
  ["ahead of ours", minute],
])("with the platform's clock %s, a build's log is whole and has no line of the build before", async (_, skew) => {
  const at = Date.now() + skew;
  const log = [
    { at: at - minute, text: "long ago" },
    { at: at - 2, text: "the build before" },
    { at: at - 1, text: "the app", source: "APP/PROC/WEB" },
  ];
  expect(await linesOf(platformAt(at, log))).toEqual(["first line", "second line"]);
});

test("what came long before a build is no part of its log, even when nothing tells which line was the last", async () => {
  const log = [{ at: now - minute, text: "the build before" }];
  expect(await linesOf(platformAt(now, log, 1))).toEqual(["first line", "second line"]);
});

test("the app can be started before the log's last lines are there", async () => {
  const lines = Promise.withResolvers<object>();
  const started = Promise.withResolvers<void>();
  const request = (method: string, path: string): Promise<object> => {
    if (path.startsWith("/api/v1/read/")) return lines.promise;
    if (method === "POST") return Promise.resolve({ guid: "b", created_at: new Date(now).toISOString() });
    return Promise.resolve({ guid: "b", state: "STAGED", droplet: { guid: "d" } });
  };
  const context = { api: { request }, progress: { line: () => undefined, step: () => undefined } };
  const staged = stage(context as unknown as Context, app, {
    packageGuid: "p",
    earlierLog: Promise.resolve(undefined),
    onSet: started.resolve,
  });
  await started.promise;
  lines.resolve({ envelopes: { batch: [toEnvelope({ at: now, text: "line" })] } });
  await staged;
});
