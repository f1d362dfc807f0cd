// Archives that somebody sends, broken at random: each is taken or refused in words, and nothing else happens.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { pack, type Pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { BlobTooLarge, type Blob, type BlobStore } from "../blob-store.ts";
import { receivePackage } from "../package/receive-package.ts";
import { processScratch, type ScratchFolder } from "../scratch/scratch-space.ts";
import { ArchiveRejected } from "./archive-path.ts";
import { unpackUpload } from "./unpack-upload.ts";

type Headers = Parameters<Pack["entry"]>[0];

let home: string;
let scratch: ScratchFolder;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "broken-archives-"));
  scratch = await processScratch.open("broken");
});
afterAll(async () => {
  await scratch.remove();
  await rm(home, { recursive: true });
});

async function tarOf(entries: readonly [Headers, (string | Buffer)?][]): Promise<Buffer> {
  const tar = pack();
  for (const [header, content] of entries) tar.entry(header, content ?? "");
  tar.finalize();
  return buffer(tar);
}

const files: readonly [Headers, string?][] = [
  [{ name: "app", type: "directory" }],
  [{ name: "app/index.js" }, "console.log(1)\n".repeat(50)],
  [{ name: `app/${"long-".repeat(40)}/${"name-".repeat(30)}` }, "x"],
  [{ name: "app/zürich", pax: { comment: "é" } }, "y"],
  [{ name: "app/link", type: "symlink", linkname: "index.js" }],
];

async function zipFile(): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from("console.log(1)\n".repeat(50)), "index.js");
  zip.addBuffer(Buffer.from("stored"), "stored.txt", { compress: false });
  zip.addBuffer(Buffer.from("index.js"), "link", { mode: 0o120777 });
  zip.addEmptyDirectory("logs");
  zip.end();
  return buffer(zip.outputStream as Readable);
}

/** Taken, or refused by one of ours. @throws what would be a 500 */
async function isRefused(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof ArchiveRejected || error instanceof BlobTooLarge) return true;
    throw error;
  }
}

async function unpack(bytes: Buffer, symlinks: "any" | "inside" = "any"): Promise<string[]> {
  const target = await mkdtemp(join(home, "target-"));
  try {
    await unpackUpload(Readable.from([bytes]), target, { maxBytes: 1e8, symlinks, packedBytes: bytes.length, scratch });
    return await readdir(target);
  } finally {
    await rm(target, { recursive: true });
  }
}

async function drain(_space: string, _kind: string, content: Readable): Promise<Blob> {
  return { digest: "sha256:x", size: (await buffer(content)).length };
}
const store = { put: drain } as unknown as BlobStore;

/** Some bytes of the archive are others, or are not there, or come twice. */
const damage = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    bytes: fc.uint8Array({ maxLength: 16 }),
    removed: fc.nat({ max: 600 }),
  }),
  { minLength: 1, maxLength: 3 },
);

function apply(bytes: Buffer, damages: readonly { at: number; bytes: Uint8Array; removed: number }[]): Buffer {
  return damages.reduce((broken, { at, bytes: other, removed }) => {
    const from = Math.floor(at * broken.length);
    return Buffer.concat([broken.subarray(0, from), other, broken.subarray(from + removed)]);
  }, bytes);
}

const RUNS = { numRuns: 60 };

describe("archives that are broken at random are refused or taken, never a fault of this machine", () => {
  test("a tar.gz, in what is packed", async () => {
    const whole = gzipSync(await tarOf(files));
    await fc.assert(
      fc.asyncProperty(damage, async (damages) => void (await isRefused(unpack(apply(whole, damages))))),
      RUNS,
    );
  });

  test("a tar.gz, in its tar", async () => {
    const whole = await tarOf(files);
    await fc.assert(
      fc.asyncProperty(damage, async (damages) => void (await isRefused(unpack(gzipSync(apply(whole, damages)))))),
      RUNS,
    );
  });

  test("a tar.gz, in the fields of a header whose checksum is right", async () => {
    const whole = await tarOf(files);
    const header = fc.record({
      entry: fc.nat({ max: 12 }),
      at: fc.nat({ max: 511 }),
      bytes: fc.uint8Array({ maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(header, async ({ entry, at, bytes }) => {
        const broken = Buffer.from(whole);
        const start = Math.min(entry * 512, broken.length - 512);
        broken.set(bytes.subarray(0, 512 - at), start + at);
        const block = broken.subarray(start, start + 512);
        block.fill(" ", 148, 156);
        const sum = block.reduce((total, byte) => total + byte, 0);
        block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
        await isRefused(unpack(gzipSync(broken)));
      }),
      RUNS,
    );
  });

  test("a zip", async () => {
    const whole = await zipFile();
    await fc.assert(
      fc.asyncProperty(damage, async (damages) => {
        const bits = Readable.from([apply(whole, damages)]);
        await isRefused(receivePackage(store, { space: "s", bits, maxBytes: 1e8, scratch }));
      }),
      RUNS,
    );
  });
});

describe("is refused in words:", () => {
  test("a tar.gz whose checksum is wrong", async () => {
    const bytes = gzipSync(await tarOf(files));
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 8) ^ 1, bytes.length - 8);
    await expect(unpack(bytes)).rejects.toThrow(/no tar\.gz that can be read: incorrect data check/);
  });
  test("a tar.gz that says another length", async () => {
    const bytes = gzipSync(await tarOf(files));
    bytes.writeUInt32LE(1, bytes.length - 4);
    await expect(unpack(bytes)).rejects.toThrow(/no tar\.gz that can be read: incorrect length check/);
  });
  test.each<[string, string, RegExp]>([
    ["empty", "", /leads nowhere/],
    ["with a NUL", "a\0b", /NUL|leads nowhere|no tar\.gz/],
    ["longer than any path", "x/".repeat(3000), /is too long/],
  ])("a symlink that is %s", async (_what, target, reason) => {
    const entry: Headers = { name: "app", type: "symlink", pax: { linkpath: target } };
    await expect(unpack(gzipSync(await tarOf([[{ ...entry, linkname: target.slice(0, 50) }]])))).rejects.toThrow(
      reason,
    );
  });
  test("a tar.gz that unpacks to more than 200 times its size", async () => {
    const bomb = gzipSync(await tarOf([[{ name: "zeros" }, Buffer.alloc(66 * 2 ** 20)]]));
    expect(gunzipSync(bomb).length / bomb.length).toBeGreaterThan(200);
    await expect(unpack(bomb)).rejects.toThrow(/unpacks to more than 200 times its size/);
  });
  test("a tar.gz whose names fill the memory", async () => {
    const linkpath = `${"n".repeat(250)}/`.repeat(16).slice(0, 4000);
    const tar = await tarOf([[{ name: "link", type: "symlink", linkname: "x", pax: { linkpath } }]]);
    const [link, end] = [tar.subarray(0, -1024), tar.subarray(-1024)];
    const many = gzipSync(Buffer.concat([...Array.from({ length: 17_000 }, () => link), end]), { level: 0 });
    await expect(unpack(many)).rejects.toThrow(/too many entries, or their names are too long/);
  });
});
