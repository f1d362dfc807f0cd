// Status of a build that made a droplet, and last log lines of a build that failed.
import { expect, test } from "vitest";
import type { Staging } from "../../../crds/staging/staging.ts";
import { toLogLines, toOutcome } from "./plan.ts";

const said = "a/b 1 ended with 1, saying: npm error\nnpm ci failed. Next: npm install";

test.each<[string, Parameters<typeof toLogLines>, string[]]>([
  ["not again what the buildpack printed", [{ code: "BuildpackCompileFailed", message: said }], ["a/b 1 ended with 1"]],
  [
    "the hint, which is the end of the message",
    [{ code: "BuildpackCompileFailed", message: `${said}; set X` }, "set X"],
    ["a/b 1 ended with 1", "set X"],
  ],
  [
    "every other message whole",
    [{ code: "StagingError", message: "one, saying: two\nthree" }],
    ["one, saying: two", "three"],
  ],
])("%s", (_title, input, lines) => {
  expect(toLogLines(...input)).toEqual(lines);
});

test.each([
  [
    "is cut to what the status takes",
    `https://git.example/${"a".repeat(300)}.git`,
    `https://git.example/${"a".repeat(235)}`,
  ],
  [
    "shows no half of a password",
    `https://ann:${"p".repeat(300)}@git.example/bp.git`,
    "https://***:***@git.example/bp.git",
  ],
  ["stays as it is", "nodejs_buildpack", "nodejs_buildpack"],
])("the name of a buildpack %s", (_title, name, shown) => {
  const metadata = { buildpacks: [{ id: "a/b", version: "1", api: "0.10" }], processes: [], labels: {} };
  const staged = { digest: "sha256:0", size: 1, metadata };
  const outcome = toOutcome({ spec: {} } as Staging, { staged, root: "/droplet", names: [{ name, id: "a/b" }] });
  expect(outcome.droplet?.buildpacks[0]?.name).toBe(shown);
});
