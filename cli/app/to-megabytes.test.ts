// Sizes as people type them.
import { describe, expect, test } from "vitest";
import { bytes, fields } from "../output.ts";
import { toMegabytes } from "./to-megabytes.ts";

describe("sizes", () => {
  test.each([
    ["256M", 256],
    ["1G", 1024],
    ["2GB", 2048],
    ["1t", 1_048_576],
    ["64mb", 64],
    ["1.5G", 1536],
    ["1GiB", 1024],
    ["524288K", 512],
    ["2097152B", 2],
  ])("%s is %d MB", (text, megabytes) => {
    expect(toMegabytes(text)).toBe(megabytes);
  });

  test.each(["", "12", "M", "1,5G", "-1M", "1P"])("%j is told to be none", (text) => {
    expect(() => toMegabytes(text)).toThrow("is no size: write 256M or 1G");
  });

  test.each([
    [0, "0B"],
    [1023, "1023B"],
    [1024, "1K"],
    [1536, "1.5K"],
    [64 * 1024 * 1024, "64M"],
    [10 * 1024 ** 3, "10G"],
  ])("%d bytes read %s", (count, text) => {
    expect(bytes(count)).toBe(text);
  });

  test("values of fields stand below each other", () => {
    expect(
      fields([
        ["a", "1"],
        ["longer", "2"],
      ]),
    ).toEqual(["a:        1", "longer:   2"]);
  });
});
