// From what a program writes to what stands on a terminal, and to a picture of it.
import { expect, test } from "vitest";
import { toSvg } from "./svg.ts";
import { toTerminalLines } from "./terminal-lines.ts";

test("colours, a line drawn again, and a line that is too long", () => {
  const output = "\x1b[31m✗\x1b[39m no \x1b[2mdim\x1b[22m\r\n 10%\r100%\r\nabcdefghijkl";
  expect(toTerminalLines(output, 10)).toEqual([
    [{ text: "✗", colour: "red" }, { text: " no " }, { text: "dim", isDim: true }],
    [{ text: "100%" }],
    [{ text: "abcdefghij" }],
    [{ text: "kl" }],
  ]);
});

test("a picture holds the text, escaped, and its colours", () => {
  const svg = toSvg("cup push", [[{ text: "a < b & c", colour: "green" }], []], 20);
  expect(svg).toContain('fill="#6bd49b">a &lt; b &amp; c</tspan>');
  expect(svg).toContain("<title>cup push</title>");
});
