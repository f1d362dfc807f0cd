// Reads an uploaded zip with suspicion: the whole zip is judged by its directory before a byte of content is unpacked.
import { type Readable, Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { ArchiveRejected, type ArchivePath, checkTarget, checkTree, cleanPath, UNPACK_RATIO } from "./archive-path.ts";

/** Bounds on the entries that a zip declares. Sizes in bytes. */
export interface ZipLimits {
  maxEntries: number;
  /** Size of all files together, unpacked. */
  maxUnpackedBytes: number;
  /** Unpacked against packed, of the whole zip, once it unpacks to more than `ratioFrom`. */
  maxRatio: number;
  ratioFrom: number;
}

export const defaultZipLimits: ZipLimits = {
  maxEntries: 200_000,
  maxUnpackedBytes: 4 * 2 ** 30,
  ...UNPACK_RATIO,
};

/** An entry of an accepted zip. `mode` holds permission bits only; `content` opens a file, and its stream fails when its size or checksum is not the declared one. */
export interface ZipMember extends ArchivePath {
  mode: number;
  size: number;
  content?: () => Promise<Readable>;
}

/** An accepted zip. Close it when its members are read. */
export interface AcceptedZip {
  members: ZipMember[];
  close(): void;
}

/** More than any file system takes: a target is read into memory. */
const maxLinkBytes = 2 ** 16;
/** Bound of the names, extra fields and comments of all entries, which are in memory. */
const maxDirectoryBytes = 64 * 2 ** 20;
/** A local header without its name and extra field. */
const localHeaderBytes = 30;

/** Opens and judges the zip at `file`. @throws ArchiveRejected with the reason */
export async function openZip(file: string, limits: ZipLimits = defaultZipLimits): Promise<AcceptedZip> {
  const zip = await openPromise(file, { autoClose: false, lazyEntries: true, validateEntrySizes: true }).catch(
    (cause: unknown) => {
      throw new ArchiveRejected(`it is no zip file that can be read: ${messageOf(cause)}`, { cause });
    },
  );
  try {
    const members = await readMembers(zip, limits);
    checkTree(members);
    return { members, close: () => zip.close() };
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function readMembers(zip: ZipFile, limits: ZipLimits): Promise<ZipMember[]> {
  if (zip.entryCount > limits.maxEntries)
    throw new ArchiveRejected(`it has ${zip.entryCount} entries, more than the ${limits.maxEntries} allowed`);
  const entries: Entry[] = [];
  let bytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      bytes += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
      if (bytes > maxDirectoryBytes) throw new Error("its names and comments are too long");
      entries.push(entry);
    }
  } catch (cause) {
    throw new ArchiveRejected(entryProblem(messageOf(cause)), { cause });
  }
  checkRanges(entries, zip.fileSize);
  checkSizes(entries, limits);
  const members: ZipMember[] = [];
  for (const entry of entries) {
    const member = await toMember(zip, entry);
    if (member.path !== "") members.push(member);
  }
  return members;
}

/**
 * Each entry has bytes of its own, inside the file. Otherwise one entry's bytes unpack as often as the directory names them, and the sum of compressed sizes
 * says nothing about the zip. Names and extra fields are left out of the ranges: local headers may differ from the directory, and the sum is bounded without them.
 */
function checkRanges(entries: readonly Entry[], fileSize: number): void {
  const ranges = entries
    .map(({ fileName, relativeOffsetOfLocalHeader: start, compressedSize }) => ({
      fileName,
      start,
      end: start + localHeaderBytes + compressedSize,
    }))
    .sort((a, b) => a.start - b.start);
  let previous: (typeof ranges)[number] | undefined;
  for (const range of ranges) {
    if (range.end > fileSize)
      throw new ArchiveRejected(
        `the entry ${JSON.stringify(range.fileName)} reaches beyond the end of the zip; send it again`,
      );
    if (previous && range.start < previous.end)
      throw new ArchiveRejected(
        `the entries ${JSON.stringify(previous.fileName)} and ${JSON.stringify(range.fileName)} overlap, as only in a zip bomb`,
      );
    previous = range;
  }
}

function checkSizes(entries: readonly Entry[], limits: ZipLimits): void {
  let unpacked = 0;
  let packed = 0;
  for (const entry of entries) {
    if (entry.isEncrypted())
      throw new ArchiveRejected(
        `the entry ${JSON.stringify(entry.fileName)} is encrypted; send a zip without a password`,
      );
    if (!entry.canDecodeFileData())
      throw new ArchiveRejected(
        `the entry ${JSON.stringify(entry.fileName)} is packed by a method that is not supported; use deflate`,
      );
    if (entry.uncompressedSize === 0 && entry.crc32 !== 0)
      throw new ArchiveRejected(`the entry ${JSON.stringify(entry.fileName)} has a wrong checksum; send the zip again`);
    unpacked += entry.uncompressedSize;
    packed += entry.compressedSize;
  }
  if (unpacked > limits.maxUnpackedBytes)
    throw new ArchiveRejected(`it unpacks to ${unpacked} bytes, more than the ${limits.maxUnpackedBytes} allowed`);
  if (unpacked > limits.ratioFrom && unpacked > packed * limits.maxRatio) {
    throw new ArchiveRejected(`it unpacks to more than ${limits.maxRatio} times its size, as only a zip bomb does`);
  }
}

async function toMember(zip: ZipFile, entry: Entry): Promise<ZipMember> {
  const path = cleanPath(entry.fileName);
  const unixMode = entry.externalFileAttributes >>> 16;
  const format = unixMode & 0o170000;
  const mode = unixMode & 0o777;
  if (format === 0o120000) return { path, type: "symlink", mode: 0o777, size: 0, target: await readLink(zip, entry) };
  if (entry.fileName.endsWith("/") || format === 0o040000)
    return { path, type: "directory", mode: mode === 0 ? 0o755 : mode | 0o700, size: 0 };
  if (format !== 0 && format !== 0o100000)
    throw new ArchiveRejected(
      `the entry ${JSON.stringify(entry.fileName)} is neither a file, a directory nor a symlink`,
    );
  return {
    path,
    type: "file",
    mode: mode === 0 ? 0o644 : mode | 0o600,
    size: entry.uncompressedSize,
    content: () => openEntry(zip, entry),
  };
}

async function readLink(zip: ZipFile, entry: Entry): Promise<string> {
  if (entry.uncompressedSize > maxLinkBytes)
    throw new ArchiveRejected(`the symlink ${JSON.stringify(entry.fileName)} is too long`);
  return checkTarget(entry.fileName, (await buffer(await openEntry(zip, entry))).toString("utf8"));
}

async function openEntry(zip: ZipFile, entry: Entry): Promise<Readable> {
  const source = await zip.openReadStreamPromise(entry).catch((cause: unknown) => {
    throw new ArchiveRejected(`the entry ${JSON.stringify(entry.fileName)} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  });
  const checked = checkCrc(entry);
  source.on("error", (error) => checked.destroy(error));
  checked.once("close", () => source.destroy());
  return source.pipe(checked);
}

/** Passes the content through and fails at its end when its checksum is not the declared one. */
function checkCrc(entry: Entry): Transform {
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush: (done) =>
      done(
        sum === entry.crc32
          ? null
          : new ArchiveRejected(`the entry ${JSON.stringify(entry.fileName)} has a wrong checksum; send the zip again`),
      ),
  });
}

function entryProblem(problem: string): string {
  const relative = /^invalid relative path: (.*)$/s.exec(problem);
  if (relative) return `the path ${JSON.stringify(relative[1])} leads out of the app's directory ("..")`;
  const absolute = /^absolute path: (.*)$/s.exec(problem);
  if (absolute)
    return `the path ${JSON.stringify(absolute[1])} is absolute; paths must be relative to the app's directory`;
  return problem === "strong encryption is not supported"
    ? "it is encrypted; send a zip without a password"
    : `its directory is broken: ${problem}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
