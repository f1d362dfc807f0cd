// Sizes and log rates as text.
import { expect, test } from "vitest";
import { toBytesPerSecond, toMegabytes } from "./sizes.ts";

test.each<[string, number | undefined]>([
  ["512M", 512],
  ["1g", 1024],
  ["2TB", 2 * 1024 * 1024],
  ["1GiB", 1024],
  ["2048K", 2],
  ["1500KB", 1],
  ["10B", 0],
  ["5", undefined],
  ["1.5G", 1536],
  ["0.5g", 512],
  ["-1M", -1],
  ["1 G", undefined],
  ["M", undefined],
  ["1P", undefined],
  ["", undefined],
])("%s is %s MB", (text, megabytes) => {
  expect(toMegabytes(text)).toBe(megabytes);
});

test.each<[string, number | undefined]>([
  ["-1", -1],
  ["0", 0],
  ["16K", 16384],
  ["1B", 1],
  ["5", undefined],
  ["-2", undefined],
  ["-1K", undefined],
])("%s is %s bytes a second", (text, bytes) => {
  expect(toBytesPerSecond(text)).toBe(bytes);
});
