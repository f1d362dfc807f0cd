// Directories to tar.gz and back, streamed. Packing is deterministic; unpacking trusts no entry of the archive.
import { createReadStream } from "node:fs";
import { chmod, lstat, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract, type Header, pack, type Pack } from "tar-stream";
import { limitBytes } from "../blob-store.ts";
import { countBytes, type ScratchMeter } from "../scratch/scratch-space.ts";
import { createFileWriter, READ_BYTES, SMALL_BYTES, type FileContent } from "./file-writer.ts";
import { gzipAdaptively } from "./adaptive-gzip.ts";
import { ArchiveRejected, type ArchivePath, checkTarget, checkTree, cleanPath } from "./archive-path.ts";

/** An entry to pack. `content` is opened when its turn comes; `size` must be exact. */
export interface TarMember extends ArchivePath {
  mode: number;
  size: number;
  content?: () => Promise<Readable> | Readable;
  /** The same at once, for a small file: a stream costs more than its bytes. */
  bytes?: () => Promise<Buffer>;
  /** root unless given. */
  owner?: FileOwner;
}

/** Whose the files of a layer are, by number. */
export interface FileOwner {
  uid: number;
  gid: number;
}

/** All archives carry this time, so that the same files give the same digest. */
const fixedTime = new Date("1980-01-01T00:00:01Z");

/** Writes the members as tar.gz, sorted by path. Errors destroy the stream. */
export function packMembers(members: readonly TarMember[]): Readable {
  const sorted = [...members].sort((a, b) => comparePaths(a.path, b.path));
  return packed(async function* () {
    yield* sorted;
  });
}

/** The order of members in an archive that `packMembers` wrote. */
export function comparePaths(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Packs the files and whole directories at `paths` below `root` as tar.gz, without sockets and devices. */
export function packDirectory(root: string, paths: readonly string[], owner?: FileOwner): Readable {
  return packed(async function* () {
    for (const path of [...paths].sort())
      for await (const member of walk(root, path))
        yield owner ? { ...member, mode: forGroup(member.mode), owner } : member;
  });
}

/** A process of the same group may be another user: what the owner may, the group may. */
function forGroup(mode: number): number {
  return mode | ((mode & 0o700) >> 3);
}

function packed(members: () => AsyncIterable<TarMember>): Readable {
  const tar = pack();
  const fill = async (): Promise<void> => {
    for await (const member of members()) await addMember(tar, member);
    tar.finalize();
  };
  fill().catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))));
  return gzipAdaptively(tar as AsyncIterable<Buffer>);
}

/** Adds an entry, and waits until it is read. */
export async function addMember(tar: Pack, member: TarMember): Promise<void> {
  const header = {
    name: member.path,
    mode: member.mode,
    type: member.type,
    size: member.size,
    mtime: fixedTime,
    uid: member.owner?.uid ?? 0,
    gid: member.owner?.gid ?? 0,
    linkname: member.target ?? "",
  };
  // An empty file need not be opened.
  if (member.type !== "file" || member.size === 0) return addBytes(tar, { ...header, size: 0 }, Buffer.alloc(0));
  if (member.bytes) return addBytes(tar, header, await member.bytes());
  if (!member.content) throw new Error(`no content given for ${member.path}`);
  await pipeline(await member.content(), tar.entry(header));
}

function addBytes(tar: Pack, header: Parameters<Pack["entry"]>[0], bytes: Buffer): Promise<void> {
  if (bytes.length !== header.size) throw new Error(`${header.name} changed while it was packed`);
  return new Promise((resolve, reject) => tar.entry(header, bytes, (error) => (error ? reject(error) : resolve())));
}

/** An entry of a directory. */
export interface FoundMember extends TarMember {
  /** Identity of a file and its content: it differs for another file or another content. Undefined where the file system does not say when a file was made. */
  identity?: string;
}

/** Entries below `root` at `path`, in a fixed order, without sockets and devices. */
export async function* walk(root: string, path: string): AsyncGenerator<FoundMember> {
  const absolute = join(root, path);
  const stats = await lstat(absolute);
  const mode = stats.mode & 0o777;
  if (stats.isSymbolicLink()) yield { path, type: "symlink", mode: 0o777, size: 0, target: await readlink(absolute) };
  else if (stats.isFile())
    yield {
      path,
      type: "file",
      mode,
      size: stats.size,
      content: () => createReadStream(absolute, { end: Math.max(stats.size - 1, 0), highWaterMark: READ_BYTES }),
      ...(stats.size <= SMALL_BYTES && { bytes: () => readFile(absolute) }),
      ...(stats.birthtimeMs > 0 && { identity: [stats.dev, stats.ino, stats.birthtimeMs, stats.mtimeMs].join(" ") }),
    };
  else if (stats.isDirectory()) {
    yield { path, type: "directory", mode, size: 0 };
    for (const name of (await readdir(absolute)).sort()) yield* walk(root, `${path}/${name}`);
  }
}

/** Bounds and rules of `unpackTar`. */
export interface UnpackOptions {
  maxBytes: number;
  maxEntries?: number;
  /** `inside`: refuse symlinks that lead out of the target (packages). `any`: make them as they are (droplets, whose layers may point to the system). */
  symlinks: "inside" | "any";
  /** Whose folder `target` is below. */
  scratch?: ScratchMeter;
  /** `below`: an absolute path is taken as one below the target, as in layers of images; otherwise it is refused. */
  absolute?: "below";
}

/** Bound of the paths and link targets of one archive, which are strings in memory. */
const MAX_NAMES_CHARACTERS = 64 * 2 ** 20;
/** A file takes at least so much of a disk. */
const BLOCK_BYTES = 4096;

/**
 * Unpacks a tar.gz into the existing, empty directory `target`, with modes. Symlinks are made last, so that no entry is ever written through one.
 * @throws ArchiveRejected on paths or types that are not allowed, BlobTooLarge after `maxBytes` unpacked
 */
export async function unpackTar(content: Readable, target: string, options: UnpackOptions): Promise<void> {
  const { seen, add } = listEntries(options);
  const directories = new Map<string, number>();
  const files = createFileWriter();
  const visit = async (header: Header, body: TarBody): Promise<void> => {
    const entry = add(header);
    const path = join(target, entry.path);
    const mode = header.mode & 0o777;
    if (entry.type === "directory") directories.set(path, mode | 0o700);
    await files.makeFolder(entry.type === "directory" ? path : dirname(path));
    if (entry.type === "file") await files.write(path, { mode: mode | 0o600, size: header.size ?? 0, content: body });
    else body.skip();
  };
  const reading = readTar(content, options.maxBytes, visit, options.scratch);
  // Nothing is written any more when it fails.
  await reading.finally(() => files.ended());
  await files.done();
  const links = seen.filter((entry) => entry.type === "symlink");
  checkTree(options.symlinks === "inside" ? seen : seen.filter((entry) => entry.type !== "symlink"));
  for (const link of links) await symlink(link.target ?? "", join(target, link.path));
  for (const [path, mode] of directories) await chmod(path, mode);
}

/** The entries so far, in memory: their number and their names have bounds. `add` throws ArchiveRejected, ScratchFull */
function listEntries({ absolute, maxEntries = 500_000, scratch }: UnpackOptions): {
  seen: readonly ArchivePath[];
  add(header: Header): ArchivePath;
} {
  const seen: ArchivePath[] = [];
  let characters = 0;
  return {
    seen,
    add(header) {
      const entry = toEntry(absolute === "below" ? { ...header, name: header.name.replace(/^\/+/, "") } : header);
      scratch?.take(BLOCK_BYTES);
      if (entry.path !== "") seen.push(entry);
      characters += entry.path.length + (entry.target?.length ?? 0);
      if (seen.length > maxEntries || characters > MAX_NAMES_CHARACTERS)
        throw new ArchiveRejected("it has too many entries, or their names are too long");
      return entry;
    },
  };
}

/** The content of an entry: one of these is called once. */
export interface TarBody extends FileContent {
  skip(): void;
}

/** Calls `visit` for each entry, one after the other. It must take the body, or skip it. The meter counts what is unpacked, and its signal ends the reading. */
export async function readTar(
  content: Readable,
  maxBytes: number,
  visit: (header: Header, body: TarBody) => Promise<void>,
  meter?: ScratchMeter,
): Promise<void> {
  const tar = extract();
  tar.on("entry", (header, entry, next) => {
    const { body, ended, abandon } = toBody(entry, header.size ?? 0);
    visit(header, body)
      .then(ended)
      .then(
        () => next(),
        (error: unknown) => {
          abandon();
          next(error instanceof Error ? error : new Error(String(error)));
        },
      );
  });
  const unpacked = [createGunzip({ chunkSize: READ_BYTES }), limitBytes(maxBytes)] as const;
  const signal = meter?.signal;
  if (meter) await pipeline(content, ...unpacked, countBytes(meter), tar, ...(signal ? [{ signal }] : []));
  else await pipeline(content, ...unpacked, tar);
}

type EntryStream = ReturnType<typeof extract> extends AsyncIterable<infer Source> ? Source : never;

/** `ended` resolves once the entry has been read. */
function toBody(entry: EntryStream, size: number): { body: TarBody; ended: () => Promise<void>; abandon: () => void } {
  let reading: Promise<void> = Promise.resolve();
  let through: PassThrough | undefined;
  const body: TarBody = {
    stream() {
      // tar-stream's own streams are not node's, and pipeline wants node's.
      through = new PassThrough();
      reading = pipeline(entry, through);
      reading.catch(() => undefined); // `ended` tells it
      return through;
    },
    bytes: () => bytesOf(entry, size),
    skip: () => void entry.resume(),
  };
  return { body, ended: () => reading, abandon: () => void through?.destroy() };
}

async function bytesOf(entry: EntryStream, size: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk as Buffer);
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  if (bytes.length !== size) throw new Error("unexpected end of an entry");
  return bytes;
}

/** Reads some entries of a tar.gz in the order in which it has them. */
export interface TarReader {
  /** The content of a later entry; those before it are skipped. Read it to its end before the next. @throws Error when there is none */
  open(name: string): Promise<Readable>;
  /** The same at once, of a small file. */
  bytes(name: string): Promise<Buffer>;
  close(): void;
}

/** Opens a tar.gz for reading in its own order; it fails after `maxBytes` unpacked. */
export function openTar(content: Readable, maxBytes: number): TarReader {
  const tar = extract();
  const entries = tar[Symbol.asyncIterator]();
  // The error reaches whoever waits for an entry.
  pipeline(content, createGunzip({ chunkSize: READ_BYTES }), limitBytes(maxBytes), tar).catch((error: unknown) =>
    tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  const find = async (name: string): Promise<EntryStream> => {
    for (let next = await entries.next(); !next.done; next = await entries.next()) {
      if (next.value.header.name === name) return next.value;
      next.value.resume();
    }
    throw new Error(`the archive has no further entry ${name}`);
  };
  return {
    async open(name) {
      const body = new PassThrough({ highWaterMark: READ_BYTES });
      pipeline(await find(name), body).catch((error: unknown) =>
        body.destroy(error instanceof Error ? error : undefined),
      );
      return body;
    },
    async bytes(name) {
      const entry = await find(name);
      return bytesOf(entry, entry.header.size ?? 0);
    },
    close: () => content.destroy(),
  };
}

function toEntry(header: Header): ArchivePath {
  const path = cleanPath(header.name);
  if (header.type === "directory") return { path, type: "directory" };
  if (header.type === "symlink") return { path, type: "symlink", target: checkTarget(path, header.linkname ?? "") };
  if (header.type === "file" || header.type === "contiguous-file") return { path, type: "file" };
  throw new ArchiveRejected(
    `the entry ${JSON.stringify(header.name)} is a ${header.type}; only files, directories and symlinks are allowed`,
  );
}
