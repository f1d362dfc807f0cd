// Zips that are not what their directory says: refused before anything of them is unpacked, or at the first broken entry.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { cleanPath } from "./archive-path.ts";
import { openZip } from "./zip.ts";

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "cupola-zip-"))));
afterEach(() => rm(directory, { recursive: true, force: true }));

async function zipOf(files: Record<string, string>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, body] of Object.entries(files)) zip.addBuffer(Buffer.from(body), name, { compress: false });
  zip.end();
  return buffer(zip.outputStream as Readable);
}
async function open(bytes: Buffer) {
  const file = join(directory, "bits.zip");
  await writeFile(file, bytes);
  return openZip(file);
}
/** Offset of the n-th record of the zip's directory. */
function recordAt(bytes: Buffer, n: number): number {
  let at = -1;
  for (let i = 0; i <= n; i++) at = bytes.indexOf("PK\x01\x02", at + 1, "latin1");
  return at;
}
const read = async (bytes: Buffer, index = 0): Promise<string> => {
  const zip = await open(bytes);
  try {
    return String(await buffer((await zip.members[index]?.content?.()) as Readable));
  } finally {
    zip.close();
  }
};

test("entries in any order are read, each once", async () => {
  const bytes = await zipOf({ a: "first", b: "second" });
  expect([await read(bytes, 0), await read(bytes, 1)]).toEqual(["first", "second"]);
});

test("many records on one entry are refused", async () => {
  const bytes = await zipOf({ a: "x".repeat(1000), b: "x".repeat(1000) });
  bytes.writeUInt32LE(0, recordAt(bytes, 1) + 42);
  await expect(open(bytes)).rejects.toThrow(/"a" and "b" overlap/);
});

test("an entry that begins inside another is refused", async () => {
  const bytes = await zipOf({ a: "x".repeat(1000), b: "x".repeat(1000) });
  bytes.writeUInt32LE(500, recordAt(bytes, 1) + 42);
  await expect(open(bytes)).rejects.toThrow(/overlap/);
});

test("a compressed size beyond the file is refused", async () => {
  const bytes = await zipOf({ a: "x" });
  bytes.writeUInt32LE(1_000_000, recordAt(bytes, 0) + 20);
  bytes.writeUInt32LE(1_000_000, recordAt(bytes, 0) + 24);
  await expect(open(bytes)).rejects.toThrow(/"a" reaches beyond the end of the zip/);
});

test.each(["content", ""])("a wrong checksum of %j is refused", async (body) => {
  const bytes = await zipOf({ a: body });
  bytes.writeUInt32LE(0xdeadbeef, recordAt(bytes, 0) + 16);
  await expect(read(bytes)).rejects.toThrow(/"a" has a wrong checksum/);
});

test("a name in a path has 255 bytes at most", () => {
  expect(cleanPath(`a/${"b".repeat(255)}/c`)).toHaveLength(259);
  expect(() => cleanPath(`a/${"b".repeat(256)}/c`)).toThrow(/has 256 bytes; file systems take 255 at most/);
  expect(() => cleanPath("ü".repeat(128))).toThrow(/256 bytes/);
});
