// The contract of a content store.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Blob,
  type BlobKind,
  BlobNotFound,
  type BlobStore,
  BlobTooLarge,
  InvalidBlobName,
} from "../blob-store.ts";
import { maxBytes, otherSpace, space, type OpenStore } from "./store-under-test.ts";

/** The contract of a store that `open` makes anew, empty, for each test. */
export function storeSuite(open: OpenStore): void {
  let directory: string;
  let store: BlobStore;
  let leftovers: () => Promise<string[]>;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cupola-store-"));
    ({ store, leftovers } = await open(join(directory, "blobs")));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const put = (where: string, kind: BlobKind = "package", content = "content"): Promise<Blob> =>
    store.put(where, kind, Readable.from([Buffer.from(content)]), { maxBytes });

  describe("content", () => {
    test("is found by space and digest, both together", async () => {
      const blob = await put(space, "droplet", "abc");
      expect(blob).toEqual({ digest: `sha256:${createHash("sha256").update("abc").digest("hex")}`, size: 3 });
      expect(await text(await store.open(space, blob.digest))).toBe("abc");
      expect(await store.find(space, blob.digest)).toEqual(blob);
      await expect(store.open(otherSpace, blob.digest)).rejects.toBeInstanceOf(BlobNotFound);
      await expect(store.open("../x", blob.digest)).rejects.toBeInstanceOf(InvalidBlobName);
      await expect(store.has(space, "sha256:../../etc/passwd")).rejects.toBeInstanceOf(InvalidBlobName);
      await store.remove(space, blob.digest);
      expect(await store.find(space, blob.digest)).toBeUndefined();
      expect(await store.list({ space })).toEqual([]);
      await store.remove(space, blob.digest);
    });

    test("can be a file, which the store may take", async () => {
      const file = join(directory, "droplet.tar.gz");
      await writeFile(file, "abc");
      const blob = await store.putFile(space, "droplet", file, { maxBytes });
      expect(blob).toEqual(await put(space, "droplet", "abc"));
      expect(await text(await store.open(space, blob.digest))).toBe("abc");
      await writeFile(file, "abcd");
      await expect(store.putFile(space, "droplet", file, { maxBytes: 3 })).rejects.toBeInstanceOf(BlobTooLarge);
      expect(await leftovers()).toEqual([]);
    });

    test("has a note, which goes with it and stays when it is put again", async () => {
      const { digest } = await put(space);
      expect(await store.findNote(space, digest)).toBeUndefined();
      await store.writeNote(space, digest, "note");
      await put(space);
      expect(await store.findNote(space, digest)).toBe("note");
      expect(await store.findNote(otherSpace, digest)).toBeUndefined();
      await expect(store.writeNote(otherSpace, digest, "theirs")).rejects.toBeInstanceOf(BlobNotFound);
      await store.remove(space, digest);
      await put(space);
      expect(await store.findNote(space, digest)).toBeUndefined();
    });

    test("is listed once for each space and kind, with its size and time", async () => {
      const before = Date.now() - 1000;
      const { digest } = await put(space);
      await Promise.all([put(otherSpace), put(otherSpace, "droplet"), put(space)]);
      await put(otherSpace, "cache", "");
      const all = await store.list();
      expect(all.map((row) => `${row.space} ${row.kind} ${row.size}`).sort()).toEqual([
        `${space} package 7`,
        `${otherSpace} cache 0`,
        `${otherSpace} droplet 7`,
        `${otherSpace} package 7`,
      ]);
      for (const { modified } of all) expect(modified).toBeGreaterThan(before);
      expect(await store.list({ space: otherSpace, kind: "droplet" })).toMatchObject([{ digest }]);
      expect(await store.list({ space: "no-such-space" })).toEqual([]);
    });

    test("that is put or touched again counts as new, and a removal of what was old spares it", async () => {
      const { digest } = await put(space);
      const modified = async (): Promise<number> => (await store.list({ space }))[0]?.modified ?? 0;
      for (const renew of [() => put(space), () => store.touch(space, digest)]) {
        const first = await modified();
        await until(() => Date.now() > first + 5);
        await renew();
        expect(await modified()).toBeGreaterThan(first);
        await store.remove(space, digest, { lastPutBefore: first + 1 });
        expect(await store.has(space, digest)).toBe(true);
      }
      await store.remove(space, digest, { lastPutBefore: (await modified()) + 1 });
      expect(await store.has(space, digest)).toBe(false);
      await store.touch(space, digest);
      expect(await store.list()).toEqual([]);
    });

    test("is put with a note, which is asked for once the content has been read; without one the note stays", async () => {
      let isRead = false;
      const content = new Readable({
        read() {
          isRead = true;
          this.push("noted");
          this.push(null);
        },
      });
      const note = (): string => `read: ${isRead}`;
      const { digest } = await store.put(space, "package", content, { maxBytes, note });
      expect(await store.findNote(space, digest)).toBe("read: true");
      await store.put(space, "package", Readable.from(["noted"]), { maxBytes });
      expect(await store.findNote(space, digest)).toBe("read: true");
      await store.put(space, "package", Readable.from(["noted"]), { maxBytes, note: () => "another" });
      expect(await store.findNote(space, digest)).toBe("another");
    });

    test("is copied to another space with its note, and is each one's own", async () => {
      const { digest } = await put(space);
      await store.writeNote(space, digest, "note");
      await store.copy({ space, digest }, otherSpace, "package");
      await store.remove(space, digest);
      expect(await text(await store.open(otherSpace, digest))).toBe("content");
      expect(await store.findNote(otherSpace, digest)).toBe("note");
      await store.copy({ space: otherSpace, digest }, otherSpace, "package");
      expect(await store.list()).toHaveLength(1);
      await expect(store.copy({ space, digest }, otherSpace, "package")).rejects.toBeInstanceOf(BlobNotFound);
    });

    test("of many uploads at once is whole", async () => {
      const big = Buffer.alloc(3_000_000, "x");
      const uploads = [space, otherSpace, space, otherSpace].map((where) =>
        store.put(where, "package", Readable.from([big.subarray(0, 1_000_000), big.subarray(1_000_000)]), { maxBytes }),
      );
      const [blob] = await Promise.all(uploads);
      for (const where of [space, otherSpace])
        expect((await buffer(await store.open(where, blob?.digest ?? ""))).equals(big)).toBe(true);
      expect(await store.list()).toHaveLength(2);
      expect(await leftovers()).toEqual([]);
    });
  });

  test("a failed put leaves nothing behind", async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.from("half");
        throw new Error("the client went away");
      })(),
    );
    await expect(store.put(space, "package", failing, { maxBytes })).rejects.toThrow("went away");
    const large = store.put(space, "package", Readable.from([Buffer.alloc(100)]), { maxBytes: 99 });
    await expect(large).rejects.toBeInstanceOf(BlobTooLarge);
    expect(await store.list()).toEqual([]);
    expect(await leftovers()).toEqual([]);
  });
}

/** Waits for the clock. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
