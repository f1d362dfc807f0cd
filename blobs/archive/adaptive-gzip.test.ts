// Content that does not get smaller is stored; the rest is compressed, and equal bytes stay equal bytes.
import { createCipheriv } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gzipAdaptively, isWorthCompressing } from "./adaptive-gzip.ts";

const MIB = 2 ** 20;

/** Bytes without a pattern, the same in every run. */
function noise(size: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(size));
}

const text = Buffer.from("a line of a log\n".repeat(MIB / 16));

function chunked(bytes: Buffer, size: number): Readable {
  const count = Math.ceil(bytes.length / size);
  return Readable.from(Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size)));
}

test("noise is stored, text is compressed, and both come back", async () => {
  const mixed = Buffer.concat([text, noise(MIB), text]);
  const packed = await buffer(gzipAdaptively(chunked(mixed, 65_536)));
  expect(gunzipSync(packed).equals(mixed)).toBe(true);
  expect(packed.length).toBeLessThan(1.3 * MIB);
  expect(isWorthCompressing(noise(8192))).toBe(false);
});

test("equal bytes give equal output, however they come", async () => {
  const mixed = Buffer.concat([noise(MIB), text, noise(MIB / 2)]);
  const [one, other] = await Promise.all([7_001, 300_000].map((size) => buffer(gzipAdaptively(chunked(mixed, size)))));
  expect(other && one?.equals(other)).toBe(true);
});

test("more blocks than are compressed at once come in order, with the checksum of all", async () => {
  const lines = Buffer.from(Array.from({ length: 300_000 }, (_, at) => `line ${at}\n`).join(""));
  const packed = await buffer(gzipAdaptively(chunked(lines, 100_000)));
  expect(gunzipSync(packed).equals(lines)).toBe(true);
  expect(packed.length).toBeLessThan(lines.length / 2);
});

test("what is stored grows by a ten-thousandth", async () => {
  const bytes = noise(3 * MIB + 17);
  const packed = await buffer(gzipAdaptively(chunked(bytes, 65_536)));
  expect(packed.length).toBeLessThan(bytes.length * 1.0002);
  expect(gunzipSync(packed).equals(bytes)).toBe(true);
});

test("nothing gives an empty archive, and an error of the source comes through", async () => {
  expect(gunzipSync(await buffer(gzipAdaptively(Readable.from([])))).length).toBe(0);
  const broken = new Readable({ read: () => broken.destroy(new Error("disk gone")) });
  await expect(buffer(gzipAdaptively(broken))).rejects.toThrow("disk gone");
});

test("a source is destroyed with the result", async () => {
  const source = new Readable({ read: () => source.push(noise(MIB)) });
  const packed = gzipAdaptively(source);
  await once(packed, "readable");
  packed.destroy();
  await finished(source).catch(() => undefined); // it ended early
  expect(source.destroyed).toBe(true);
});
