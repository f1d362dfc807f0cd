// What the log says at the end of a failed build.
import { expect, test } from "vitest";
import { toLogLines } from "./plan.ts";

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
