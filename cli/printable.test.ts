// Text of others on a terminal: shown, never obeyed.
import { describe, expect, test } from "vitest";
import { fields, table } from "./output.ts";
import { toCell, toJsonText, toLines } from "./printable.ts";

const ESC = "\u001b";
const TITLE = `${ESC}]0;owned\u0007`;
const CLIPBOARD = `${ESC}]52;c;cm0gLXJmIH4=\u0007`;
/** The characters that a terminal acts on, but for line feeds. */
const ACTED_ON = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;

test.each([
  ["a title", `echo ${TITLE}x`, "echo ^[]0;owned^Gx"],
  ["a colour", `${ESC}[31mred`, "^[[31mred"],
  ["lines", "a\nb\tc\rd", "a\\nb c^Md"],
  ["C1", "\u009b2J\u009d", "\\u009b2J\\u009d"],
  ["another direction", "abc\u202egnp.exe", "abc\\u202egnp.exe"],
  ["words of anybody", "Zürich 東京 👋 שלום", "Zürich 東京 👋 שלום"],
])("a cell shows %s as text", (_what, text, shown) => expect(toCell(text)).toBe(shown));

describe("lines", () => {
  test("keep tabs, and colours until their end", () =>
    expect(toLines(`a\t${ESC}[1;31mred\nnext${ESC}[0m`)).toBe(`a\t${ESC}[1;31mred${ESC}[0m\nnext${ESC}[0m${ESC}[0m`));
  test.each([
    ["the clipboard", CLIPBOARD],
    ["the title", TITLE],
    ["the cursor", `${ESC}[2J${ESC}[1;1H`],
    ["the start of the line", "fine\rforged"],
    ["hidden text", `${ESC}[8mhidden${ESC}[0;8m`],
  ])("show what would set %s", (_what, text) => {
    const shown = toLines(text);
    expect(shown).not.toContain(`${ESC}]`);
    expect(shown.replace(/\u001b\[[013]?m/g, "")).not.toMatch(ACTED_ON);
  });
  test("end without the carriage return of a log of Windows", () => expect(toLines("a\r\nb")).toBe("a\nb"));
});

test("a table of others' text has one line for each row, as wide as it is shown", () => {
  const lines = table(["id", "command", "state"], [["1", `a\n2   forged${TITLE}`, "FAILED"]]);
  expect(lines.slice(1)).toEqual(["1    a\\n2   forged^[]0;owned^G   FAILED"]);
});

test("a value of several lines is indented, so that none looks like another variable", () =>
  expect(fields([["A", `1\nPORT:   ${ESC}c`]])).toEqual(["A:   1\n     PORT:   ^[c"]));

test("JSON has no character that a terminal acts on, and says the same", () => {
  const value = { command: `${TITLE}\u009b31m\u202e\u007f` };
  const text = toJsonText(value);
  expect(text).not.toMatch(ACTED_ON);
  expect(JSON.parse(text)).toEqual(value);
});
