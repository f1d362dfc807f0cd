// A layer of an image as tar.gz: the same entries give the same bytes, on any machine and at any time.
import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack, type Header, type Pack } from "tar-stream";
import { completeEntries, type ImageEntry } from "./image-entries.ts";

/** A manifest's descriptor of a blob. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

export interface WrittenLayer {
  descriptor: Descriptor;
  /** Digest of the tar before compression: the layer's place in the config. */
  diffId: string;
}

const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip";
/** Docker and the Cloud Native Buildpacks lifecycle use a fixed time, too. */
const FIXED_TIME = new Date(0);

/** Path of a blob below an image layout. */
export function blobPath(layout: string, digest: string): string {
  return join(layout, "blobs", ...digest.split(":"));
}

/** Writes the layer as a blob of the layout. */
export async function writeLayer(layout: string, entries: readonly ImageEntry[]): Promise<WrittenLayer> {
  const folder = join(layout, "blobs", "sha256");
  mkdirSync(folder, { recursive: true });
  const temp = join(folder, `.layer-${process.pid}-${performance.now()}`);
  try {
    const { digest, diffId } = await writeTarGz(temp, entries);
    const { size } = statSync(temp);
    renameSync(temp, blobPath(layout, digest));
    return { descriptor: { mediaType: LAYER_TYPE, digest, size }, diffId };
  } finally {
    rmSync(temp, { force: true });
  }
}

/** Writes the entries as tar.gz. `digest` is that of the file, `diffId` that of the tar. */
export async function writeTarGz(
  file: string,
  entries: readonly ImageEntry[],
): Promise<{ digest: string; diffId: string }> {
  const [content, compressed] = [createHash("sha256"), createHash("sha256")];
  const tar = pack();
  const output = pipeline(tar, tap(content), createGzip({ level: 6 }), tap(compressed), createWriteStream(file));
  await Promise.all([addEntries(tar, completeEntries(entries)), output]);
  return { digest: `sha256:${compressed.digest("hex")}`, diffId: `sha256:${content.digest("hex")}` };
}

function tap(hash: Hash): Transform {
  return new PassThrough().on("data", (chunk: Buffer) => hash.update(chunk));
}

async function addEntries(tar: Pack, entries: readonly ImageEntry[]): Promise<void> {
  try {
    for (const entry of entries) await addEntry(tar, entry);
    tar.finalize();
  } catch (error) {
    tar.destroy(error as Error);
    throw error;
  }
}

async function addEntry(tar: Pack, entry: ImageEntry): Promise<void> {
  const { uid, gid } = entry.owner ?? { uid: 0, gid: 0 };
  const header = { name: entry.path.slice(1), mtime: FIXED_TIME, uid, gid, uname: "", gname: "" };
  if (entry.type === "directory") return addData(tar, { ...header, type: "directory", mode: entry.mode });
  if (entry.type === "symlink")
    return addData(tar, { ...header, type: "symlink", mode: 0o777, linkname: entry.target });
  if ("content" in entry) return addData(tar, { ...header, mode: entry.mode }, entry.content);
  const { size } = statSync(entry.source);
  await pipeline(createReadStream(entry.source), tar.entry({ ...header, mode: entry.mode, size }));
}

async function addData(
  tar: Pack,
  header: Partial<Header> & { name: string },
  content: string | Buffer = "",
): Promise<void> {
  const size = Buffer.byteLength(content);
  const sink = tar.entry({ ...header, ...(header.type ? {} : { size }) });
  if (header.type) return;
  sink.end(content);
  await once(sink, "finish");
}
