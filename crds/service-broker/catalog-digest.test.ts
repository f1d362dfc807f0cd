// The digest of a catalog: the same for what is the same, however it is ordered.
import { expect, test } from "vitest";
import { catalogDigest } from "./catalog-digest.ts";

const entry = (name: string, spec: object) => ({ metadata: { name }, spec });
const plan = entry("p", { name: "small", maintenanceInfo: { version: "1", description: "d" } });
const offering = entry("o", { name: "db", tags: ["a", "b"] });

test.each<[string, ReturnType<typeof entry>[], boolean]>([
  ["another order", [offering, plan], true],
  [
    "another order of members",
    [entry("p", { maintenanceInfo: { description: "d", version: "1" }, name: "small" }), offering],
    true,
  ],
  [
    "a visibility, which is the operators'",
    [entry("p", { ...plan.spec, visibility: { type: "public" } }), offering],
    true,
  ],
  ["an absent member", [entry("p", { ...plan.spec, costs: undefined }), offering], true],
  ["one that is missing", [plan], false],
  ["another value", [plan, entry("o", { name: "db", tags: ["b", "a"] })], false],
  ["another name", [plan, entry("other", offering.spec)], false],
])("%s", (_, entries, isSame) => {
  expect(catalogDigest(entries) === catalogDigest([plan, offering])).toBe(isSame);
});
