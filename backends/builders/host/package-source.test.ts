// Files that stand in a Staging reach the build as an upload does.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unpackTar } from "../../../blobs/archive/tar.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { openSource } from "./package-source.ts";

async function unpack(files: Record<string, string>): Promise<string> {
  const target = await mkdtemp(join(tmpdir(), "cupola-source-"));
  const bits = await openSource({ source: { files }, store: {} as BlobStore, space: "s" });
  await unpackTar(bits, target, { maxBytes: 1e6, symlinks: "inside" });
  return target;
}

test("files in folders, empty ones and any text", async () => {
  const target = await unpack({ "site/index.html": "grüße\n", Staticfile: "" });
  expect(await readFile(join(target, "site", "index.html"), "utf8")).toBe("grüße\n");
  expect(await readFile(join(target, "Staticfile"), "utf8")).toBe("");
});

test("a path that leads out of the app's directory is refused", async () => {
  await expect(unpack({ "../evil": "x" })).rejects.toThrow("leads out of the app's directory");
});
