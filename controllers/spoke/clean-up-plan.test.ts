// Which Secrets of a hub go from a spoke, and when.
import { expect, test } from "vitest";
import { planCleanUp, UNUSED_MS, type CleanUpInput, type UnusedSince } from "./clean-up-plan.ts";

const secret = { name: "shop-env-0123456789abcdef", uid: "s" };
const used = { used: new Set([secret.name]) };

/** Names of the Secrets that go, over looks that follow each other, each with its time. */
function look(...inputs: Partial<CleanUpInput>[]): string[] {
  let unused: UnusedSince = new Map();
  return inputs.flatMap((input) => {
    const plan = planCleanUp(unused, { secrets: [secret], used: new Set(), now: 0, ...input });
    ({ unused } = plan);
    return plan.remove.map(({ name }) => name);
  });
}

test("a Secret goes when nothing has used it for ten minutes, and not before", () => {
  expect(look({}, { now: UNUSED_MS - 1 })).toEqual([]);
  expect(look({}, { now: UNUSED_MS })).toEqual([secret.name]);
});

test("a Secret that is used stays, and its time begins again when it is used no more", () => {
  expect(look(used, { ...used, now: UNUSED_MS })).toEqual([]);
  expect(look({}, { ...used, now: 1 }, { now: UNUSED_MS }, { now: UNUSED_MS + 1 })).toEqual([]);
});

test("another Secret of the same name has a time of its own", () => {
  expect(look({}, { secrets: [{ ...secret, uid: "other" }], now: UNUSED_MS })).toEqual([]);
});
