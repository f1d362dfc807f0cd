// Job GUIDs carry all there is to know, and only those made here are read back.
import { expect, test } from "vitest";
import { toJobGUID, parseJobGUID } from "./job-guid.ts";

test.each([
  { operation: "app.delete", guid: "7c7d", startedAt: 1_780_000_000 },
  { operation: "role.delete", guid: "a~b c%/ü", startedAt: 1 },
  {
    operation: "space.apply_manifest",
    guid: "x",
    startedAt: 1_780_000_000,
    errors: ["For application 'ä': no", "two"],
  },
] as const)("$operation survives the way to the client and back", (job) => {
  expect(parseJobGUID(decodeURIComponent(encodeURIComponent(toJobGUID(job))))).toEqual(job);
});

test("very long errors are cut, so that the URL stays one", () => {
  const guid = toJobGUID({
    operation: "space.apply_manifest",
    guid: "x",
    startedAt: 1,
    errors: Array.from({ length: 50 }, () => "e".repeat(1000)),
  });
  expect(guid.length).toBeLessThan(8000);
  expect(parseJobGUID(guid)?.errors?.length).toBe(3);
});

test.each([
  "",
  "x",
  "app.delete",
  "app.delete~",
  "nope.delete~x~1",
  "app.delete~x~zzzzzzzzzz",
  "app.delete~x~1~!!",
  "space.apply_manifest~x~1~e30",
  "__proto__~x~1",
])("%s is none", (text) => {
  expect(parseJobGUID(text)).toBeUndefined();
});
