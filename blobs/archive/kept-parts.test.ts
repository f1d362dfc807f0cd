// Parts of an archive of before are copied into the next one when nothing in them has changed, and only then.
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packInParts } from "./kept-parts.ts";
import type { Parts } from "./parts.ts";
import { unpackTar } from "./tar.ts";

let folder: string;
let root: string;
const FILES = 300;
const LARGE = "app/large";
const fileOf = (index: number): string => `app/lib/${index % 7}/${index}.js`;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cupola-parts-"));
  root = join(folder, "root");
  for (let index = 0; index < 7; index++) await mkdir(join(root, "app", "lib", String(index)), { recursive: true });
  for (let index = 0; index < FILES; index++) await writeFile(join(root, fileOf(index)), `file ${index}`);
  await writeFile(join(root, LARGE), randomBytes(3 * 2 ** 20));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const packTo = (name: string): Promise<Parts> => packInParts({ root, paths: ["app"], target: join(folder, name) });
async function packAgain(name: string, from: string, parts: Parts): Promise<Parts> {
  const file = await open(join(folder, from));
  try {
    return await packInParts({ root, paths: ["app"], target: join(folder, name) }, { file, parts });
  } finally {
    await file.close();
  }
}
const bytesOf = (name: string): Promise<Buffer> => readFile(join(folder, name));
async function unpack(name: string): Promise<string> {
  const target = join(folder, `${name}.unpacked`);
  await mkdir(target);
  await unpackTar(createReadStream(join(folder, name)), target, { maxBytes: 2 ** 30, symlinks: "any" });
  return target;
}

test("what was packed is unpacked, and the same tree gives the same bytes with and without an archive of before", async () => {
  const parts = await packTo("one");
  expect(Object.keys(parts).length).toBeGreaterThan(3);
  const again = await packAgain("two", "one", parts);
  expect(again).toEqual(parts);
  expect((await bytesOf("two")).equals(await bytesOf("one"))).toBe(true);
  const target = await unpack("two");
  for (const path of [fileOf(0), fileOf(FILES - 1), LARGE])
    expect((await readFile(join(target, path))).equals(await readFile(join(root, path)))).toBe(true);
});

test("a file that another replaces is packed anew though size and time are the same, and the other parts are copied", async () => {
  const parts = await packTo("one");
  const path = join(root, fileOf(7));
  await utimes(path, new Date(0), new Date(0));
  const before = await packAgain("two", "one", parts);
  await writeFile(`${path}.new`, "FILE 7");
  await utimes(`${path}.new`, new Date(0), new Date(0));
  await rename(`${path}.new`, path);
  const after = await packAgain("three", "two", before);
  expect(Object.keys(after).filter((key) => !(key in before))).toHaveLength(1);
  expect(await readFile(join(await unpack("three"), fileOf(7)), "utf8")).toBe("FILE 7");
});

test.each([
  ["damaged", (bytes: Buffer) => bytes.fill(0xff, 1_500_000, 1_500_010)],
  ["cut short", (bytes: Buffer) => bytes.subarray(0, 100)],
])("an archive of before that is %s spoils nothing", async (_, spoil) => {
  const parts = await packTo("one");
  const sound = Buffer.from(await bytesOf("one"));
  await writeFile(join(folder, "one"), spoil(await bytesOf("one")));
  await packAgain("two", "one", parts);
  expect((await bytesOf("two")).equals(sound)).toBe(true);
});
