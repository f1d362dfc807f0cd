// The budget of temporary files: shares, refusals, and what killed processes leave.
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ScratchFull, ScratchSpace } from "./scratch-space.ts";

let home: string;
let space: ScratchSpace;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "scratch-space-"));
  space = new ScratchSpace();
  await space.begin({ folder: home, maxBytes: 1000 });
});
afterEach(() => rm(home, { recursive: true }));

/** Undefined when the bytes are taken; otherwise whether so many are never taken. */
async function refusal(owner: string, bytes: number): Promise<{ never: boolean } | undefined> {
  const folder = await space.open(owner);
  try {
    folder.take(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof ScratchFull) return { never: error.never };
    throw error;
  }
}

describe("an owner", () => {
  test("has at most half of the budget", async () => {
    expect(await refusal("a", 501)).toEqual({ never: true });
    expect(await refusal("a", 500)).toBeUndefined();
    expect(await refusal("a", 1)).toEqual({ never: false });
  });
  test("has half of what the others leave, so that the next one finds something, too", async () => {
    expect(await refusal("a", 500)).toBeUndefined();
    expect(await refusal("b", 251)).toEqual({ never: false });
    expect(await refusal("b", 250)).toBeUndefined();
    expect(await refusal("c", 125)).toBeUndefined();
    expect(await refusal("d", 62)).toBeUndefined();
    expect(space.used).toBe(937);
  });
  test("gives back what it had when its folder goes, files and all", async () => {
    const folder = await space.open("a");
    await writeFile(join(folder.path, "file"), "x");
    folder.take(500);
    await folder.remove();
    await folder.remove();
    expect(space.used).toBe(0);
    expect(await refusal("a", 500)).toBeUndefined();
    expect((await readdir(join(folder.path, ".."))).includes(basename(folder.path))).toBe(false);
  });
});

test("a stream stops where the budget ends, and takes what it wrote", async () => {
  const folder = await space.open("a");
  const chunks = Array.from({ length: 20 }, () => Buffer.alloc(100));
  await expect(pipeline(Readable.from(chunks), folder.counted(), (source) => source.resume())).rejects.toThrow(
    ScratchFull,
  );
  expect(space.used).toBe(500);
  await folder.remove();
  expect(space.used).toBe(0);
});

test("a folder whose client went away takes nothing more, and its work does not begin", async () => {
  const client = new AbortController();
  const folder = await space.open("a", client.signal);
  client.abort(new Error("the client went away"));
  expect(() => folder.take(1)).toThrow("went away");
  await expect(folder.turn(() => Promise.resolve())).rejects.toThrow("went away");
  await expect(space.open("a", client.signal)).rejects.toThrow("went away");
});

test("heavy work of one owner waits for its own, and others do not wait for it", async () => {
  const running: string[] = [];
  const held = Promise.withResolvers<void>();
  const work = (owner: string) =>
    space.turn(owner, () => {
      running.push(owner);
      return held.promise;
    });
  const all = [...Array.from({ length: 10 }, () => work("greedy")), work("other"), work("third")];
  await new Promise((resolve) => setImmediate(resolve));
  expect(running.toSorted()).toEqual(["greedy", "greedy", "greedy", "greedy", "other", "third"]);
  held.resolve();
  await Promise.all(all);
  expect(running).toHaveLength(12);
});

test("what a killed process left goes at the next start, and what a living one has stays", async () => {
  // No process has such a pid; this one lives, and had its pid since it began.
  const [killed, reused, living] = [
    "4194305-1",
    `${process.pid}-1`,
    basename(join((await space.open("a")).path, "..")),
  ];
  for (const name of [killed, reused]) await mkdir(join(home, name, "work-x"), { recursive: true });
  await writeFile(join(home, "not-ours"), "");
  await new ScratchSpace().begin({ folder: home, maxBytes: 1000 });
  // Where the system does not say when a process began, its pid decides.
  const kept = process.platform === "linux" ? [living] : [living, reused];
  expect((await readdir(home)).toSorted()).toEqual([...kept, "not-ours"].toSorted());
});

test("two parts of one work that never fit together are refused for good, whoever else waits", async () => {
  const folder = await space.open("a");
  folder.take(400);
  const stored = space.count("a", (meter) => Promise.resolve(meter.take(101)), folder);
  await expect(stored).rejects.toMatchObject({ never: true });
  const beside = await space.open("a", undefined, folder);
  expect(() => beside.take(101)).toThrow(expect.objectContaining({ never: true }));
  beside.take(100);
  // Another upload of the same owner may fit later.
  expect(await refusal("a", 101)).toEqual({ never: false });
  await beside.remove();
  expect(space.used).toBe(400);
  await space.count("a", (meter) => Promise.resolve(meter.take(100)), folder);
  await folder.remove();
  expect(space.used).toBe(0);
});

test("a work that waits for its turn ends at once when its client goes, and one that runs ends by itself", async () => {
  const held = Promise.withResolvers<void>();
  const client = new AbortController();
  const folders = await Promise.all(Array.from({ length: 5 }, () => space.open("a", client.signal)));
  const turns = folders.map((folder) => folder.turn(() => held.promise.then(() => "done")));
  await new Promise((resolve) => setImmediate(resolve));
  client.abort(new Error("the client went away"));
  await expect(turns[4]).rejects.toThrow("went away");
  held.resolve();
  expect(await Promise.all(turns.slice(0, 4))).toEqual(["done", "done", "done", "done"]);
});
