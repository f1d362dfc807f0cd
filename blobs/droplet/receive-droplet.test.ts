// Droplets as files: what is accepted, and how layers move to another root.
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { Readable as NodeReadable } from "node:stream";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ArchiveRejected } from "../archive/archive-path.ts";
import { packDirectory, readTar, unpackTar } from "../archive/tar.ts";
import type { Blob, BlobStore } from "../blob-store.ts";
import { processScratch, ScratchFull, ScratchSpace, type ScratchFolder } from "../scratch/scratch-space.ts";
import { moveRoot } from "./move-root.ts";
import { receiveDroplet, ROOT_LABEL, type DropletUpload } from "./receive-droplet.ts";

const FROM = "/home/me/droplets/11111111-1111-4111-8111-111111111111";
const TO = "/home/me/droplets/22222222-2222-4222-8222-222222222222";
let home: string;
let at = 0;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "receive-droplet-"));
});
afterAll(() => rm(home, { recursive: true }));

async function openScratch(): Promise<ScratchFolder> {
  const scratch = await processScratch.open("droplets");
  onTestFinished(() => scratch.remove());
  return scratch;
}

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

/** Source of a stored droplet. */
const streamed = (open: () => Readable) => () => Promise.resolve(open());

/** Sends the files as a droplet, and unpacks what was stored. */
async function receive(
  files: Record<string, string>,
  from?: string,
  place: DropletUpload["place"] = { root: TO },
): Promise<string> {
  const folder = await folderOf(files);
  let stored: Buffer | undefined;
  const put = async (_space: string, _kind: string, content: Readable): Promise<Blob> => {
    stored = await buffer(content);
    return { digest: "sha256:x", size: stored.length };
  };
  const top = [...new Set(Object.keys(files).map((name) => name.split("/")[0] ?? ""))];
  const scratch = await openScratch();
  await receiveDroplet({ put }, { space: "s", bits: streamed(() => packDirectory(folder, top)), place, from, scratch });
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
  const scratch = await openScratch();
  const bits = streamed(() => NodeReadable.from([Buffer.from("hello")]));
  const put = (): Promise<Blob> => Promise.reject(new Error("nothing to store"));
  await expect(receiveDroplet({ put }, { space: "s", bits, place: { root: TO }, scratch })).rejects.toThrow(
    /no tar\.gz/,
  );
});

test.each([
  ["a path twice", ["app/x", "app/x"]],
  ["a path below a file", ["app/x", "app/x/y"]],
])("an archive with %s is refused", async (_what, names) => {
  const tar = pack();
  for (const name of names) tar.entry({ name }, "x");
  tar.finalize();
  const scratch = await openScratch();
  const bytes = gzipSync(await buffer(tar));
  const bits = streamed(() => NodeReadable.from([bytes]));
  const put = (): Promise<Blob> => Promise.reject(new Error("nothing to store"));
  await expect(receiveDroplet({ put }, { space: "s", bits, place: { root: TO }, scratch })).rejects.toThrow(
    ArchiveRejected,
  );
});

test("a root across two chunks of a file moves, too", async () => {
  const folder = await folderOf({ big: `${"x".repeat((1 << 20) - 10)}${FROM}${"y".repeat(10)}${FROM}` });
  await moveRoot(folder, FROM, TO);
  const text = await readFile(join(folder, "big"), "utf8");
  expect([text.includes(FROM), text.split(TO).length]).toEqual([false, 3]);
});

test("a layer of an image has links where its files may say that the droplet is, and an owner", async () => {
  const place = { owner: { uid: 1001, gid: 1000 } };
  const link = `cupola-root-${"0".repeat(FROM.length - 13)}`;
  const files = { [METADATA]: labelled, "app/run.sh": `exec ${FROM}/layers/node`, "workspace/of-others": "" };
  const target = await receive(files, undefined, place);
  expect(await readFile(join(target, "app", "run.sh"), "utf8")).toBe(`exec /${link}/layers/node`);
  expect([await readlink(join(target, link)), await readlink(join(target, "workspace"))]).toEqual([".", "app"]);
  // A droplet that is sent again stays as it is.
  const again = await receive(
    { [METADATA]: await readFile(join(target, METADATA), "utf8"), "app/run.sh": `/${link}/x` },
    undefined,
    place,
  );
  expect(await readFile(join(again, "app", "run.sh"), "utf8")).toBe(`/${link}/x`);
  const short = receive({ [METADATA]: labelled.replace(FROM, "/tmp/x"), "app/x": "" }, undefined, place);
  await expect(short).rejects.toThrow(
    /it was built at \/tmp\/x, a path of 6 bytes, and an image takes one of 14 to 256/,
  );
});

test("files of a layer are its owner's, and what the owner may, the group may", async () => {
  const folder = await folderOf({ "app/run.sh": "" });
  await chmod(join(folder, "app", "run.sh"), 0o700);
  const seen: unknown[] = [];
  await readTar(
    packDirectory(folder, ["app"], { uid: 1001, gid: 1000 }),
    1e6,
    async ({ name, uid, gid, mode }, body) => {
      seen.push([name, uid, gid, mode?.toString(8)]);
      body.skip();
    },
  );
  expect(seen.at(-1)).toEqual(["app/run.sh", 1001, 1000, "770"]);
});

describe("a client that goes away ends the work, and nothing of it stays on the disk", () => {
  const put = async (content: Readable): Promise<Blob> => ({
    digest: "sha256:x",
    size: (await buffer(content)).length,
  });

  async function sent(
    bits: (client: AbortController) => Promise<NodeReadable>,
    onPut: (client: AbortController) => void,
  ): Promise<ScratchFolder> {
    const client = new AbortController();
    const scratch = await processScratch.open("leaver", client.signal);
    onTestFinished(() => scratch.remove());
    const store = {
      put: (_space: string, _kind: string, content: Readable) => {
        onPut(client);
        return put(content);
      },
    };
    const upload = { space: "s", bits: () => bits(client), place: { root: TO }, scratch };
    await expect(receiveDroplet(store, upload)).rejects.toThrow(/abort|went away/i);
    expect(await readdir(scratch.path)).toEqual([]);
    return scratch;
  }

  const archive = async (): Promise<Buffer> => {
    const folder = await folderOf({ "app/big": "x".repeat(5_000_000), "app/small": "y" });
    return buffer(packDirectory(folder, ["app"]));
  };

  test("while it is unpacked", async () => {
    const bytes = await archive();
    await sent(
      (client) =>
        Promise.resolve(
          NodeReadable.from(
            (async function* () {
              yield bytes.subarray(0, bytes.length - 100);
              client.abort(new Error("the client went away"));
              await new Promise((resolve) => setImmediate(resolve));
              yield bytes.subarray(bytes.length - 100);
            })(),
          ),
        ),
      () => expect.unreachable("nothing is stored"),
    );
  });
  test("while it is stored", () =>
    sent(
      async () => NodeReadable.from([await archive()]),
      (client) => client.abort(new Error("the client went away")),
    ));
  test("while it waits for its turn, before anything is opened", async () => {
    const client = new AbortController();
    const scratch = await processScratch.open("waiter", client.signal);
    onTestFinished(() => scratch.remove());
    const others = Promise.withResolvers<void>();
    const turns = Array.from({ length: 4 }, () => processScratch.turn("waiter", () => others.promise));
    const bits = (): Promise<Readable> => expect.unreachable("nothing is opened");
    const waiting = receiveDroplet(
      { put: (_space, _kind, content) => put(content) },
      { space: "s", bits, place: { root: TO }, scratch },
    );
    client.abort(new Error("the client went away"));
    others.resolve();
    await expect(waiting).rejects.toThrow("went away");
    await Promise.all(turns);
  });
});

test("a droplet that unpacks to more than there is temporary space for is refused", async () => {
  const space = new ScratchSpace();
  await space.begin({ folder: join(home, "small"), maxBytes: 2_000_000 });
  const scratch = await space.open("s");
  const folder = await folderOf({ "app/big": "x".repeat(1_100_000) });
  const bits = streamed(() => packDirectory(folder, ["app"]));
  const put = (): Promise<Blob> => Promise.reject(new Error("nothing to store"));
  await expect(receiveDroplet({ put }, { space: "s", bits, place: { root: TO }, scratch })).rejects.toThrow(
    ScratchFull,
  );
  await scratch.remove();
  expect(space.used).toBe(0);
});

test("a droplet that fits, but not together with what the store makes of it, is refused for good", async () => {
  const space = new ScratchSpace();
  await space.begin({ folder: join(home, "together"), maxBytes: 2_000_000 });
  const scratch = await space.open("s");
  onTestFinished(() => scratch.remove());
  const folder = await folderOf({ "app/big": "x".repeat(600_000) });
  const put: BlobStore["put"] = (owner, _kind, content, options) =>
    space.count(
      owner,
      async (meter) => {
        const size = (await buffer(content)).length;
        // As of a content that does not compress.
        meter.take(600_000);
        return { digest: "sha256:x", size };
      },
      options.scratch,
    );
  const bits = streamed(() => packDirectory(folder, ["app"]));
  await expect(receiveDroplet({ put }, { space: "s", bits, place: { root: TO }, scratch })).rejects.toMatchObject({
    never: true,
  });
});
