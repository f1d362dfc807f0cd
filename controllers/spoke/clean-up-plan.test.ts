// Which leftovers of a hub go from a spoke, and when.
import { expect, test } from "vitest";
import { planCleanUp, UNUSED_MS, type CleanUpInput, type UnusedSince } from "./clean-up-plan.ts";

const secret = { name: "shop-env-0123456789abcdef", uid: "s" };
const namespace = { name: "acme-dev", uid: "n" };

/** Names of the leftovers that go, over looks that follow each other, each with its time. */
function look(...inputs: Partial<CleanUpInput>[]): string[] {
  let unused: UnusedSince = new Map();
  return inputs.flatMap((input) => {
    const plan = planCleanUp(unused, { namespace, secrets: [], used: new Set(), contents: 0, now: 0, ...input });
    ({ unused } = plan);
    return [...plan.secrets, ...(plan.namespace ? [plan.namespace] : [])].map(({ name }) => name);
  });
}

test("a Secret goes when nothing has used it for ten minutes, and nothing goes before", () => {
  const left = { secrets: [secret], contents: 1 };
  expect(look(left, { ...left, now: UNUSED_MS - 1 })).toEqual([]);
  expect(look(left, { ...left, now: UNUSED_MS })).toEqual([secret.name]);
});

test("a Secret that is used stays, and its time begins again when it is used no more", () => {
  const left = { secrets: [secret], contents: 1 };
  const used = { ...left, used: new Set([secret.name]) };
  expect(look(used, { ...used, now: UNUSED_MS })).toEqual([]);
  expect(look(left, { ...used, now: 1 }, { ...left, now: UNUSED_MS }, { ...left, now: UNUSED_MS + 1 })).toEqual([]);
});

test("a namespace goes when it has had nothing of the hub for ten minutes", () => {
  expect(look({}, { now: UNUSED_MS })).toEqual([namespace.name]);
  expect(look({}, { now: UNUSED_MS - 1 })).toEqual([]);
  expect(look({ contents: 1 }, { contents: 1, now: UNUSED_MS })).toEqual([]);
  expect(look({ secrets: [secret] }, { secrets: [secret], now: UNUSED_MS })).toEqual([secret.name]);
});

test("a namespace that somebody lent, and another one of the same name, stay", () => {
  expect(look({ namespace: undefined }, { namespace: undefined, now: UNUSED_MS })).toEqual([]);
  expect(look({}, { namespace: { ...namespace, uid: "other" }, now: UNUSED_MS })).toEqual([]);
});
