// Droplets as files: what is accepted, and how layers move to another root.
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { Readable as NodeReadable } from "node:stream";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ArchiveRejected } from "../archive/archive-path.ts";
import { packDirectory, unpackTar } from "../archive/tar.ts";
import type { Blob } from "../blob-store.ts";
import { moveRoot } from "./move-root.ts";
import { receiveDroplet, ROOT_LABEL } from "./receive-droplet.ts";

const FROM = "/home/me/droplets/11111111-1111-4111-8111-111111111111";
const TO = "/home/me/droplets/22222222-2222-4222-8222-222222222222";
let home: string;
let at = 0;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "receive-droplet-"));
});
afterAll(() => rm(home, { recursive: true }));

/** A folder of its own; a value that begins with `->` is a link's target. */
async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = join(home, `folder-${(at += 1)}`);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    if (content.startsWith("->")) await symlink(content.slice(2), join(folder, name));
    else await writeFile(join(folder, name), content);
  }
  return folder;
}

/** Sends the files as a droplet, and unpacks what was stored. */
async function receive(files: Record<string, string>, from?: string): Promise<string> {
  const folder = await folderOf(files);
  let stored: Buffer | undefined;
  const put = async (_space: string, _kind: string, content: Readable): Promise<Blob> => {
    stored = await buffer(content);
    return { digest: "sha256:x", size: stored.length };
  };
  const top = [...new Set(Object.keys(files).map((name) => name.split("/")[0] ?? ""))];
  const scratch = await mkdtemp(join(home, "scratch-"));
  await receiveDroplet({ put }, { space: "s", bits: packDirectory(folder, top), root: TO, from, scratch });
  const target = join(home, `unpacked-${(at += 1)}`);
  await mkdir(target);
  await unpackTar(NodeReadable.from([stored]), target, { maxBytes: 1e6, symlinks: "any" });
  return target;
}

const METADATA = "layers/config/metadata.toml";
const labelled = `[[labels]]\nkey = "${ROOT_LABEL}"\nvalue = "${FROM}"\n`;

test.each([
  ["its metadata name", labelled, undefined],
  ["the caller knows", "buildpacks = []", FROM],
])("links and files of the root that %s lead to the new one", async (_what, metadata, from) => {
  const target = await receive(
    {
      [METADATA]: metadata,
      "app/run.sh": `exec ${FROM}/layers/node/bin/node`,
      "layers/node/link": `->${FROM}/app/x`,
      "layers/node/other": "->/usr/bin/env",
    },
    from,
  );
  expect(await readFile(join(target, "app", "run.sh"), "utf8")).toBe(`exec ${TO}/layers/node/bin/node`);
  expect(await readlink(join(target, "layers", "node", "link"))).toBe(`${TO}/app/x`);
  expect(await readlink(join(target, "layers", "node", "other"))).toBe("/usr/bin/env");
  expect(await readFile(join(target, METADATA), "utf8")).not.toContain(FROM);
});

test("a droplet of another platform runs what its staging_info.yml says", async () => {
  const target = await receive({ "app/x": "", "staging_info.yml": 'start_command: "./run x"', "deps/0/y": "" });
  expect(await readFile(join(target, METADATA), "utf8")).toContain("./run x");
  expect(await readFile(join(await receive({ "app/x": "" }), METADATA), "utf8")).toContain("processes = [");
});

test.each<[string, Record<string, string>, RegExp]>([
  ["no app", { "source/index.js": "" }, /^it has no folder app/],
  ["an app that is a link", { app: "->/etc", "layers/x": "" }, /^it has no folder app/],
  [
    "another machine's root",
    { "app/x": "", [METADATA]: labelled.replace("/home/me", "/home/you/elsewhere") },
    /^it was built at \/home\/you\/elsewhere/,
  ],
  [
    "a staging_info.yml that is no YAML",
    { "app/x": "", "staging_info.yml": "a: [" },
    /^its staging_info\.yml is no valid/,
  ],
  ["metadata that cannot be read", { "app/x": "", [METADATA]: "= =" }, /metadata\.toml cannot be read/],
])("%s is refused", async (_what, files, reason) => {
  await expect(receive(files)).rejects.toThrow(reason);
});

test("a link where metadata should be is never read or written through", async () => {
  const target = await receive({ "app/x": "", "layers/config": "->/etc", "staging_info.yml": "->/etc/hostname" });
  expect(await readFile(join(target, METADATA), "utf8")).toContain("processes = [");
});

test("what is no archive is refused in words", async () => {
  const scratch = await mkdtemp(join(home, "scratch-"));
  const bits = NodeReadable.from([Buffer.from("hello")]);
  const put = (): Promise<Blob> => Promise.reject(new Error("nothing to store"));
  await expect(receiveDroplet({ put }, { space: "s", bits, root: TO, scratch })).rejects.toThrow(/no tar\.gz/);
});

test.each([
  ["a path twice", ["app/x", "app/x"]],
  ["a path below a file", ["app/x", "app/x/y"]],
])("an archive with %s is refused", async (_what, names) => {
  const tar = pack();
  for (const name of names) tar.entry({ name }, "x");
  tar.finalize();
  const scratch = await mkdtemp(join(home, "scratch-"));
  const bits = NodeReadable.from([gzipSync(await buffer(tar))]);
  const put = (): Promise<Blob> => Promise.reject(new Error("nothing to store"));
  await expect(receiveDroplet({ put }, { space: "s", bits, root: TO, scratch })).rejects.toThrow(ArchiveRejected);
});

test("a root across two chunks of a file moves, too", async () => {
  const folder = await folderOf({ big: `${"x".repeat((1 << 20) - 10)}${FROM}${"y".repeat(10)}${FROM}` });
  await moveRoot(folder, FROM, TO);
  const text = await readFile(join(folder, "big"), "utf8");
  expect([text.includes(FROM), text.split(TO).length]).toEqual([false, 3]);
});
