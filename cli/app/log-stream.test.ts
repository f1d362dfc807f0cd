// Following a log while the platform is busy.
import { expect, test } from "vitest";
import type { ApiClient } from "../api/client.ts";
import { Failure } from "../failure.ts";
import { followLog } from "./log-stream.ts";

const answer = (...texts: string[]): object => ({
  envelopes: {
    batch: texts.map((text, at) => ({
      timestamp: String(at + 1),
      tags: { source_type: "STG" },
      log: { payload: Buffer.from(`${text}\n`).toString("base64") },
    })),
  },
});

/** Answers one after the other, then as the last of them. */
function apiOf(answers: readonly (object | Failure)[]): { api: ApiClient; calls: () => number } {
  let calls = 0;
  const request = (): Promise<object> => {
    const next = answers[Math.min(calls++, answers.length - 1)]!;
    return next instanceof Failure ? Promise.reject(next) : Promise.resolve(next);
  };
  return { api: { request } as unknown as ApiClient, calls: () => calls };
}

async function follow(api: ApiClient): Promise<string[]> {
  const lines: string[] = [];
  // A single look: what is there at the end is still given.
  for await (const { message } of followLog(api, "guid", { since: 0n, signal: AbortSignal.abort() }))
    lines.push(message);
  return lines;
}

test("a read that fails is tried again", async () => {
  const { api } = apiOf([
    new Failure("the API answered 503"),
    new Failure("away", { kind: "unreachable" }),
    answer("a", "b"),
  ]);
  expect(await follow(api)).toEqual(["a", "b"]);
});

test("a platform that never answers ends it, and who is not logged in is told at once", async () => {
  const away = apiOf([new Failure("the API answered 503")]);
  await expect(follow(away.api)).rejects.toThrow("503");
  expect(away.calls()).toBe(5);
  const refused = apiOf([new Failure("log in", { kind: "target" })]);
  await expect(follow(refused.api)).rejects.toThrow("log in");
  expect(refused.calls()).toBe(1);
});
