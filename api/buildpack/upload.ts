// Stores an uploaded buildpack: the archive of a Cloud Native Buildpack's folder, checked and kept as one tar.
import type { IncomingMessage } from "node:http";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal, pipeline } from "node:stream";
import { createGzip } from "node:zlib";
import { parse } from "smol-toml";
import { z } from "zod";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { packDirectory, readTar } from "../../blobs/archive/tar.ts";
import { unpackUpload } from "../../blobs/archive/unpack-upload.ts";
import { defaultZipLimits } from "../../blobs/archive/zip.ts";
import { BlobTooLarge, type Blob, type BlobStore } from "../../blobs/blob-store.ts";
import { receivePackage } from "../../blobs/package/receive-package.ts";
import { processScratch, type ScratchFolder } from "../../blobs/scratch/scratch-space.ts";
import { BUILDPACK_BLOBS, type Buildpack } from "../../crds/buildpack/buildpack.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { readUploadForm, type UploadForm } from "../http/upload-form.ts";

const MAX_BUILDPACK_BYTES = 2 * 1024 * 1024 * 1024;
const { maxUnpackedBytes, maxEntries } = defaultZipLimits;
const ZIP_MAGIC = Buffer.from("PK\u0003\u0004", "latin1");
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);

const TAR_MAGIC_AT = 257;
const START_BYTES = 262;
/** At the top, or in the one folder that the archive holds. */
const DESCRIPTOR = /^(?:[^/]+\/)?buildpack\.toml$/;
const descriptor = z.object({ api: z.string(), buildpack: z.object({ id: z.string(), version: z.string() }) });

export interface StoredBuildpack {
  content: Blob;
  filename: string;
}

/** The archive is no buildpack: the upload's job fails with this text. */
export class BuildpackRejected extends Error {
  override name = "BuildpackRejected";
}

/** @throws CFError 400, 413, 422 for what is no upload; BuildpackRejected for an archive without a buildpack */
export async function storeBuildpack(
  blobs: BlobStore,
  lifecycle: Buildpack["spec"]["lifecycle"],
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<StoredBuildpack> {
  const scratch = await processScratch.open(BUILDPACK_BLOBS, signal);
  try {
    const { bits } = await readUploadForm(request, { scratch, maxBytes: MAX_BUILDPACK_BYTES });
    const file = await checkFile(bits, lifecycle);
    const content =
      lifecycle === "cnb"
        ? await scratch.turn(() => storeTar(blobs, file, scratch))
        : await storeZip(blobs, file, scratch);
    await checkDescriptor(blobs, content);
    return { content, filename: file.filename.slice(0, 255) };
  } catch (error) {
    throw toRefusal(error);
  } finally {
    await scratch.remove();
  }
}

/** `isPacked`: a gzip archive, not a plain tar. */
type UploadedFile = NonNullable<UploadForm["bits"]> & { isPacked: boolean };

const invalid = (problem: string): CFError => unprocessable(`Uploaded buildpack file is invalid: ${problem}`);

async function checkFile(bits: UploadForm["bits"], lifecycle: Buildpack["spec"]["lifecycle"]): Promise<UploadedFile> {
  if (!bits) throw invalid("A buildpack zip file must be uploaded as 'bits'");
  const start = await readStart(bits.path);
  if (start.length === 0) throw invalid(`${bits.filename} cannot be empty`);
  const isCnb = lifecycle === "cnb";
  if (isCnb ? isGzip(start) || isTar(start) : start.indexOf(ZIP_MAGIC) === 0)
    return { ...bits, isPacked: isGzip(start) };
  const wanted = isCnb ? ["gzip archive or cnb file", "gzip archives or cnb files"] : ["zip file", "zip files"];
  throw invalid(
    `${bits.filename} is not a ${wanted[0]}. Buildpacks of lifecycle "${lifecycle}" must be valid ${wanted[1]}.`,
  );
}

const isGzip = (start: Buffer): boolean => start.indexOf(GZIP_MAGIC) === 0;
const isTar = (start: Buffer): boolean => start.indexOf("ustar", TAR_MAGIC_AT) === TAR_MAGIC_AT;

/** As far as the magic of a tar. */
async function readStart(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function storeZip(blobs: BlobStore, { path }: UploadedFile, scratch: ScratchFolder): Promise<Blob> {
  return receivePackage(blobs, { space: BUILDPACK_BLOBS, bits: path, maxBytes: MAX_BUILDPACK_BYTES, scratch });
}

/** Unpacked and packed again, so that only a checked tree is stored. */
async function storeTar(blobs: BlobStore, { path, isPacked }: UploadedFile, scratch: ScratchFolder): Promise<Blob> {
  const folder = join(scratch.path, "folder");
  await mkdir(folder);
  const limits = { maxBytes: maxUnpackedBytes, maxEntries, packedBytes: (await stat(path)).size };
  const packed = createReadStream(path);
  const archive = isPacked ? packed : pipeline(packed, createGzip({ level: 0 }), () => undefined);
  await unpackUpload(archive, folder, { ...limits, symlinks: "inside", scratch });
  const tar = packDirectory(folder, await readdir(folder));
  if (scratch.signal) addAbortSignal(scratch.signal, tar);
  return blobs.put(BUILDPACK_BLOBS, "package", tar, { maxBytes: MAX_BUILDPACK_BYTES, scratch });
}

async function checkDescriptor(blobs: BlobStore, { digest }: Blob): Promise<void> {
  const found: string[] = [];
  await readTar(await blobs.open(BUILDPACK_BLOBS, digest), maxUnpackedBytes, async (header, body) => {
    if (header.type === "file" && DESCRIPTOR.test(header.name) && (header.size ?? 0) <= 1 << 20)
      found.push((await body.bytes()).toString("utf8"));
    else body.skip();
  });
  const [toml] = found;
  if (toml === undefined)
    throw new BuildpackRejected(
      "Buildpack zip error: the archive has no buildpack.toml; upload the folder of a Cloud Native Buildpack, with bin/detect and bin/build",
    );
  if (!descriptor.safeParse(parseToml(toml)).success)
    throw new BuildpackRejected(
      "Buildpack zip error: its buildpack.toml names no api, buildpack.id and buildpack.version",
    );
}

function parseToml(toml: string): unknown {
  try {
    return parse(toml);
  } catch {
    // A buildpack.toml that cannot be parsed names nothing.
    return undefined;
  }
}

function toRefusal(error: unknown): unknown {
  if (error instanceof ArchiveRejected)
    return new BuildpackRejected(`Buildpack zip error: ${error.message}`, { cause: error });
  if (error instanceof BlobTooLarge)
    return new CFError("PayloadTooLarge", `${MAX_BUILDPACK_BYTES} bytes`, { cause: error });
  return error;
}
