// Choosing a plan, and JSON on a command line.
import { expect, test } from "vitest";
import { Failure } from "../failure.ts";
import { choosePlan } from "./create.ts";
import { toJSONObject } from "./json-option.ts";
import type { Offered } from "./marketplace.ts";

const offered = (...plans: string[]): Offered =>
  ({ offering: { name: "db" }, plans: plans.map((name) => ({ name, guid: name })) }) as unknown as Offered;

const failureOf = (run: () => unknown): Failure => {
  try {
    run();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("it did not fail");
};

test("the only plan, or the one that is named", () => {
  expect(choosePlan([offered("small")], "db", undefined).guid).toBe("small");
  expect(choosePlan([offered("small", "large")], "db", "large").guid).toBe("large");
});

test.each<[Offered[], string | undefined, [message: RegExp, next: RegExp]]>([
  [[], undefined, [/db does not exist/, /^cup marketplace$/]],
  [[offered("small", "large")], undefined, [/which plan of db\? small, large/, /--plan small$/]],
  [[offered("small")], "huge", [/no plan huge/, /^cup marketplace db$/]],
  [[offered("small"), offered("small")], "small", [/several brokers/, /-b BROKER$/]],
])("%j without plan %j is refused with the next step", (all, plan, [message, next]) => {
  const failure = failureOf(() => choosePlan(all, "db", plan));
  expect(failure.message).toMatch(message);
  expect(failure.next).toMatch(next);
});

test("an object is taken as it is", () => {
  expect(toJSONObject(' {"a": [1]}', "--parameters")).toEqual({ a: [1] });
});

test.each(['{"password": "s3cret"', "/s3cret/none.json"])("no value is in the refusal of %s", (text) => {
  const failure = failureOf(() => toJSONObject(text, "--credentials"));
  expect(failure).toMatchObject({ kind: "usage" });
  expect(`${failure.message} ${failure.next}`).not.toContain("s3cret");
});
