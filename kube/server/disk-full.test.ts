// Which errors mean that a disk is full.
import { expect, test } from "vitest";
import { isDiskFull } from "./disk-full.ts";

const withCode = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more });

test.each([
  ["no space", withCode("ENOSPC"), true],
  ["a quota", withCode("EDQUOT"), true],
  ["SQLite's", withCode("ERR_SQLITE_ERROR", { errcode: 13 }), true],
  ["a cause", new Error("could not be stored", { cause: withCode("ENOSPC") }), true],
  ["SQLite's, another one", withCode("ERR_SQLITE_ERROR", { errcode: 5 }), false],
  ["a missing folder", withCode("ENOENT"), false],
  ["not an error", "ENOSPC", false],
])("%s", (_name, error, full) => {
  expect(isDiskFull(error)).toBe(full);
});

test("an error that is its own cause ends the search", () => {
  const error = new Error("round");
  error.cause = error;
  expect(isDiskFull(error)).toBe(false);
});
