// Job GUIDs carry a job's whole state, and only those issued with our key are decoded.
import { expect, test } from "vitest";
import { toJobGUID, parseJobGUID } from "./job-guid.ts";

const key = Buffer.alloc(32, 1);

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
  expect(parseJobGUID(decodeURIComponent(encodeURIComponent(toJobGUID(job, key))), key)).toEqual(job);
});

test("very long errors are truncated, so that the GUID fits in a URL", () => {
  const guid = toJobGUID(
    {
      operation: "space.apply_manifest",
      guid: "x",
      startedAt: 1,
      errors: Array.from({ length: 50 }, () => "e".repeat(1000)),
    },
    key,
  );
  expect(guid.length).toBeLessThan(8000);
  expect(parseJobGUID(guid, key)?.errors?.length).toBe(3);
});

const issued = toJobGUID({ operation: "app.delete", guid: "x", startedAt: 1 }, key);
const failed = toJobGUID({ operation: "space.apply_manifest", guid: "x", startedAt: 1, errors: ["no"] }, key);

test.each([
  ["nothing", ""],
  ["a word", "x"],
  ["an operation", "app.delete"],
  ["a CF job GUID, without our digest", "app.delete~never-existed~tovt5n"],
  ["another object", issued.replace("~x~", "~y~")],
  ["another operation", issued.replace("app.", "space.")],
  ["another time", issued.replace("~1~", "~2~")],
  ["errors added", issued.replace("~1~", "~1~WyJmb3JnZWQiXQ~")],
  ["errors replaced", failed.replace(Buffer.from('["no"]').toString("base64url"), "WyJmb3JnZWQiXQ")],
  ["a truncated digest", issued.slice(0, -2)],
  ["another installation's", toJobGUID({ operation: "app.delete", guid: "x", startedAt: 1 }, Buffer.alloc(32, 2))],
])("not issued by us: %s", (_what, text) => {
  expect(parseJobGUID(text, key)).toBeUndefined();
});
