// Each step of the protocol of claims, from what is there and what was read.
import { expect, test } from "vitest";
import { isReleasable, planClaim, toTakenOver } from "./plan-claim.ts";
import { CLAIM_GRACE_MS, newClaim } from "./rules.ts";

const name = { scope: "org", claimed: "acme" };
const claimBy = (claimant: string, since = 0) => newClaim(name, { kind: "Org", name: claimant }, new Date(since));
const wanted = claimBy("mine", CLAIM_GRACE_MS);

test.each([
  ["no claim", undefined, undefined, CLAIM_GRACE_MS, "create"],
  ["its own", claimBy("mine"), undefined, CLAIM_GRACE_MS, "hold"],
  ["another one's", claimBy("other"), undefined, CLAIM_GRACE_MS, "readClaimant"],
  ["another one's, who bears the name", claimBy("other"), { name }, CLAIM_GRACE_MS, "refuse"],
  [
    "another one's, who bears another name",
    claimBy("other"),
    { name: { scope: "org", claimed: "b" } },
    CLAIM_GRACE_MS,
    "takeOver",
  ],
  ["another one's, who is gone", claimBy("other"), { name: undefined }, CLAIM_GRACE_MS, "takeOver"],
  [
    "another one's, who is not there yet, within its grace",
    claimBy("other"),
    { name: undefined },
    CLAIM_GRACE_MS - 1,
    "refuse",
  ],
] as const)("%s: %s", (...[, current, read, now, step]) =>
  expect(planClaim(wanted, current, read, new Date(now))).toBe(step),
);

test("a claim is released unless its claimant has the name", () => {
  expect(
    [{ name: undefined }, { name: { scope: "org", claimed: "b" } }, { name }].map((read) => isReleasable(wanted, read)),
  ).toEqual([true, true, false]);
});

test("a claim is taken over in the version that was judged", () => {
  const current = claimBy("other");
  const metadata = { ...current.metadata, uid: "u", resourceVersion: "7" };
  expect(toTakenOver(wanted, { ...current, metadata })).toEqual({ ...wanted, metadata });
});
