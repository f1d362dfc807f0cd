// Files of a folder that are pushed.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openPromise } from "yauzl";
import { packFiles, readSource, type Archive } from "./pack-source.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cup-archive-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path);
  }
}

async function pack(source: string): Promise<Archive> {
  const found = await readSource(source);
  return "archive" in found ? found.archive : packFiles(found.files);
}

async function namesIn(file: string): Promise<string[]> {
  const zip = await openPromise(file);
  const names: string[] = [];
  for await (const entry of zip.eachEntry()) names.push(entry.fileName);
  return names.sort();
}

async function linksIn(file: string): Promise<string[]> {
  const zip = await openPromise(file);
  const names: string[] = [];
  for await (const entry of zip.eachEntry())
    if (((entry.externalFileAttributes >>> 16) & 0o170000) === 0o120000) names.push(entry.fileName);
  return names;
}

describe("packing", () => {
  test("takes everything except .cfignore entries and files that are never pushed", async () => {
    put(
      "index.js",
      "lib/a.js",
      "manifest.yml",
      "sub/manifest.yml",
      ".git/HEAD",
      "node_modules/x/index.js",
      "secret.key",
      "docs/a.md",
    );
    writeFileSync(join(folder, ".cfignore"), "*.key\n/docs\n");
    const archive = await pack(folder);
    expect(await namesIn(archive.file)).toEqual([
      "index.js",
      "lib/a.js",
      "node_modules/x/index.js",
      "sub/manifest.yml",
    ]);
    await archive.dispose();
  });

  test("a link to a folder or to a file that is sent is a link, one to another file is sent as that file", async () => {
    put("venv/lib/a.py", "tsx/cli.js", "secret.txt");
    const outside = mkdtempSync(join(tmpdir(), "cup-outside-"));
    writeFileSync(join(outside, "c.txt"), "outside");
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, ".cfignore"), "/secret.txt\n");
    const links = {
      "venv/lib64": "lib",
      "bin/tsx": "../tsx/cli.js",
      "bin/again": "tsx",
      "bin/absolute": join(folder, "tsx", "cli.js"),
      "bin/outside": join(outside, "c.txt"),
      "bin/above": relative(join(folder, "bin"), join(outside, "c.txt")),
      "bin/ignored": "../secret.txt",
    };
    for (const [path, target] of Object.entries(links)) symlinkSync(target, join(folder, path));
    const archive = await pack(folder);
    expect(await namesIn(archive.file)).toEqual([...Object.keys(links), "venv/lib/a.py", "tsx/cli.js"].sort());
    expect(await linksIn(archive.file)).toEqual(["bin/again", "bin/tsx", "venv/lib64"]);
    await archive.dispose();
    rmSync(outside, { recursive: true });
  });

  test("a file is taken as the archive that it is", async () => {
    put("app.zip");
    expect((await pack(join(folder, "app.zip"))).file).toBe(join(folder, "app.zip"));
  });

  test("an empty folder and a missing one are errors", async () => {
    await expect(pack(folder)).rejects.toThrow("holds nothing to push");
    await expect(pack(join(folder, "nowhere"))).rejects.toThrow("does not exist");
  });
});

test("large files that do not get smaller are stored", async () => {
  put("index.js");
  const sizes: Record<string, number> = {};
  writeFileSync(join(folder, "picture"), randomBytes(300_000));
  writeFileSync(join(folder, "log"), "line\n".repeat(60_000));
  const archive = await pack(folder);
  const zip = await openPromise(archive.file);
  for await (const entry of zip.eachEntry()) sizes[entry.fileName] = entry.compressedSize;
  await archive.dispose();
  expect(sizes["picture"]).toBe(300_000);
  expect(sizes["log"]).toBeLessThan(10_000);
});

test("a file that goes away while it is packed is told, and leaves no zip behind", async () => {
  put("index.js", "gone.js");
  const source = await readSource(folder);
  rmSync(join(folder, "gone.js"));
  const before = process.listenerCount("exit");
  const packed = "files" in source ? packFiles(source.files) : undefined;
  await expect(packed).rejects.toThrow(/the app's files changed while they were read: ENOENT.*gone\.js/);
  expect(process.listenerCount("exit")).toBe(before);
});

test("packing that is stopped midway leaves no zip behind", async () => {
  put("index.js", "other.js");
  const source = await readSource(folder);
  const before = process.listenerCount("exit");
  const stop = new AbortController();
  const packed = "files" in source ? packFiles(source.files, stop.signal) : undefined;
  stop.abort();
  await expect(packed).rejects.toThrow(/aborted/);
  expect(process.listenerCount("exit")).toBe(before);
});

test("the zip goes with the process, too, which Ctrl-C ends at once", async () => {
  put("index.js");
  const before = process.listeners("exit");
  const { file, dispose } = await pack(folder);
  const [atExit] = process.listeners("exit").filter((one) => !before.includes(one));
  expect(existsSync(file)).toBe(true);
  atExit?.call(process, 130);
  expect(existsSync(file)).toBe(false);
  await dispose();
  expect(process.listeners("exit")).not.toContain(atExit);
});
