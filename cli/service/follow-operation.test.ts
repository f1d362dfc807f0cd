// Waiting on a broker: its words are told once each, and its failure ends the command with the next step.
import { expect, test } from "vitest";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { followOperation } from "./follow-operation.ts";

interface Look {
  job: { state: string; errors?: { detail: string }[] };
  /** Undefined: the object is gone. */
  said?: string;
}

function followed(looks: Look[]): { lines: string[]; context: Pick<Context, "api" | "progress"> } {
  const lines: string[] = [];
  let at = -1;
  const request = (_method: string, path: string): Promise<object> => {
    if (path === "/job") at = Math.min(at + 1, looks.length - 1);
    const look = looks[at];
    if (path === "/job") return Promise.resolve(look?.job ?? {});
    if (look?.said === undefined) return Promise.reject(new Failure("not found"));
    return Promise.resolve({ last_operation: { state: "in progress", description: look.said } });
  };
  const progress = { line: (text: string) => void lines.push(text) };
  return { lines, context: { api: { request }, progress } as unknown as Pick<Context, "api" | "progress"> };
}

const operation = { job: "/job", path: "/object", next: "cup service db" };
const POLLING = { state: "POLLING" };

test("each sentence of the broker is told once, also while the object goes", async () => {
  const { lines, context } = followed([
    { job: POLLING, said: "10 %" },
    { job: POLLING, said: "10 %" },
    { job: POLLING },
    { job: { state: "COMPLETE" } },
  ]);
  await followOperation(context, operation);
  expect(lines).toEqual(["10 %"]);
});

test.each<[string, Look[], number, RegExp]>([
  ["a failure", [{ job: { state: "FAILED", errors: [{ detail: "no room" }] } }], 60_000, /^no room$/],
  ["an end that does not come", [{ job: POLLING, said: "" }], -1, /has not ended in/],
])("%s names the next step", async (_, looks, deadlineMs, message) => {
  const { context } = followed(looks);
  const failure = await followOperation(context, { ...operation, deadlineMs }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Failure);
  expect((failure as Failure).message).toMatch(message);
  expect((failure as Failure).next).toBe("cup service db");
});
