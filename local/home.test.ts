// Messages of a damaged home: the file and the next step.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findRunning, homeAt, readState, writeState, type Home } from "./home.ts";

let home: Home;
beforeEach(() => {
  home = homeAt(mkdtempSync(join(tmpdir(), "home-")));
});
afterEach(() => rmSync(home.dir, { recursive: true }));

test("a missing state.json is empty, and a written one is read", () => {
  expect(readState(home)).toEqual({});
  writeState(home, { tokens: { admin: "a" } });
  expect(readState(home)).toEqual({ tokens: { admin: "a" } });
});

test.each([
  ["empty", ""],
  ["cut off", '{"tokens": {"admin": "secr'],
  ["of another shape", '{"tokens": ["secret"]}'],
])("a state.json that is %s is named with the step, without what is in it", (_name, text) => {
  writeFileSync(home.stateFile, text);
  const message = `${home.stateFile} is damaged. Remove it and start again: it holds only the tokens of the kubeconfig, and new ones are made`;
  expect(() => readState(home)).toThrow(message);
});

test.each(["", "{", '{"pid": 1}'])("a running.json that is %j names no process", async (text) => {
  writeFileSync(home.runFile, text);
  expect(await findRunning(home)).toBeUndefined();
});
