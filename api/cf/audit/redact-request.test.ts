// What audit events show of a request.
import { expect, test } from "vitest";
import { redact, toEventData } from "./redact-request.ts";

const HIDDEN = "[PRIVATE DATA HIDDEN]";

test.each<[body: unknown, shown: unknown]>([
  [{ name: "shop" }, { name: "shop" }],
  [{ var: { KEY: "s3cret" } }, { var: HIDDEN }],
  [
    { environment_variables: { KEY: "s3cret" }, name: "a" },
    { environment_variables: HIDDEN, name: "a" },
  ],
  [
    { data: { image: "i", username: "u", password: "p" } },
    { data: { image: "i", username: HIDDEN, password: HIDDEN } },
  ],
  [{ command: "run --token=s3cret" }, { command: HIDDEN }],
  [{ process_types: { web: "run --token=s3cret" } }, { process_types: HIDDEN }],
  [
    { lifecycle: { data: { buildpacks: ["https://ann:s3cret@example.com/pack", "ruby_buildpack"] } } },
    { lifecycle: { data: { buildpacks: ["https://***:***@example.com/pack", "ruby_buildpack"] } } },
  ],
  [{ applications: [{ env: { A: "s3cret" } }] }, { applications: [{ env: HIDDEN }] }],
  [
    [1, "two", null],
    [1, "two", null],
  ],
])("%j is shown as %j", (body, shown) => {
  expect(redact(body)).toEqual(shown);
});

test("deep nesting is cut", () => {
  const deep = JSON.parse('{"a":'.repeat(50) + "1" + "}".repeat(50)) as unknown;
  expect(JSON.stringify(redact(deep)).length).toBeLessThan(100);
});

test("data has a bound: a long request is left out, the rest stays", () => {
  expect(toEventData({})).toBeUndefined();
  expect(toEventData({ package_guid: "G", request: "x".repeat(10_000) })).toBe(
    `{"package_guid":"G","request":"${HIDDEN}"}`,
  );
  expect(toEventData({ other: "x".repeat(10_000) })).toBeUndefined();
});

test.each(["字", '"'])("data has a bound in bytes as they are stored: %s", (character) => {
  expect(toEventData({ package_guid: "G", request: character.repeat(4_000) })).toBe(
    `{"package_guid":"G","request":"${HIDDEN}"}`,
  );
});
