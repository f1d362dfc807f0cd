// Receives an upload: checks the zip, adds files from earlier packages, and stores one deterministic tar.gz by digest.
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal, type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isArchiveFault, isConflict } from "../archive/archive-fault.ts";
import { ArchiveRejected, checkTree } from "../archive/archive-path.ts";
import { comparePaths, type TarMember } from "../archive/tar.ts";
import { type AcceptedZip, defaultZipLimits, openZip, type ZipLimits } from "../archive/zip.ts";
import { type Blob, type BlobStore, BlobTooLarge, limitBytes } from "../blob-store.ts";
import type { ScratchFolder } from "../scratch/scratch-space.ts";
import {
  findMatched,
  listMember,
  openMatched,
  type FoundFiles,
  type MatchedFiles,
  type PackageMember,
} from "./matched-files.ts";
import { PackageDamaged, packParts, planParts, type PlannedPart } from "./package-parts.ts";
import { type PackageSource, readParts, type Resource, toNote } from "./resources.ts";

/** An upload. At least one of `bits` and `resources` is needed. */
export interface PackageUpload {
  space: string;
  /** The zip: its stream, or the path of a file that the caller removes. */
  bits?: Readable | string;
  resources?: readonly Resource[];
  /** Further packages whose files `resources` may name, beside the space's own newest. The caller may read them all. */
  sources?: readonly PackageSource[];
  /** Bound on the zip as sent and on the package as stored. */
  maxBytes: number;
  limits?: ZipLimits;
  /** A folder that the caller removes. Its signal ends the work. */
  scratch: ScratchFolder;
}

/**
 * Stores an uploaded package and returns the value of `Package.spec.content`.
 * @throws ArchiveRejected (422; the message says why), BlobTooLarge (413), ScratchFull
 */
export function receivePackage(store: BlobStore, upload: PackageUpload): Promise<Blob> {
  return upload.scratch.turn(() => receive(store, upload));
}

async function receive(store: BlobStore, upload: PackageUpload): Promise<Blob> {
  const folder = await mkdtemp(join(upload.scratch.path, "package-"));
  const { limits = defaultZipLimits } = upload;
  let zip: AcceptedZip | undefined;
  let matched: MatchedFiles | undefined;
  try {
    if (upload.bits !== undefined) zip = await openZip(await toFile(upload.bits, folder, upload), limits);
    // Files of this upload win over those of earlier packages.
    const sent = new Map(zip?.members.map((member) => [member.path, member]));
    const found = await findMatched(store, upload, (path) => sent.has(path));
    const members: PackageMember[] = [...sent.values(), ...found.wanted.map(listMember)];
    if (!members.some((member) => member.type === "file"))
      throw new ArchiveRejected("it has no files; is the path to the app right?");
    checkTree(members);
    checkSize(members, limits);
    const source = mostlyFrom(found);
    const planned = await planParts(
      members.sort((a, b) => comparePaths(a.path, b.path)),
      source ? await readParts(store, source) : {},
    );
    matched = await openMatched(
      { store, folder, scratch: upload.scratch, maxBytes: limits.maxUnpackedBytes },
      { ...found, wanted: withoutPacked(found.wanted, planned) },
    );
    const contents = new Map(matched.members.map((member) => [member.path, member]));
    const opened = planned.map((part) => ({
      ...part,
      members: part.members.map((member) => contents.get(member.path) ?? member),
    }));
    return await storeParts(store, upload, opened, source);
  } finally {
    zip?.close();
    matched?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function checkSize(members: readonly PackageMember[], { maxUnpackedBytes }: ZipLimits): void {
  const bytes = members.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxUnpackedBytes)
    throw new ArchiveRejected(`it unpacks to ${bytes} bytes, more than the ${maxUnpackedBytes} allowed`);
}

/** The package that has most of the found files. */
function mostlyFrom({ wanted, known }: FoundFiles): PackageSource | undefined {
  const counts = new Map<PackageSource, number>();
  for (const { sha1 } of wanted) {
    const source = known.get(sha1)?.source;
    if (source) counts.set(source, (counts.get(source) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** The files whose content is needed, since their part must be packed. */
function withoutPacked(wanted: FoundFiles["wanted"], planned: readonly PlannedPart[]): FoundFiles["wanted"] {
  const packed = new Set(planned.flatMap(({ before, members }) => (before ? members.map(({ path }) => path) : [])));
  return wanted.filter(({ path }) => !packed.has(path));
}

async function toFile(
  bits: Readable | string,
  folder: string,
  { maxBytes, scratch }: Pick<PackageUpload, "maxBytes" | "scratch">,
): Promise<string> {
  if (typeof bits === "string") {
    if ((await stat(bits)).size > maxBytes) throw new BlobTooLarge(maxBytes);
    return bits;
  }
  const file = join(folder, "bits.zip");
  await pipeline(bits, limitBytes(maxBytes), scratch.counted(), createWriteStream(file));
  return file;
}

async function storeParts(
  store: BlobStore,
  upload: PackageUpload,
  planned: readonly PlannedPart[],
  source: PackageSource | undefined,
): Promise<Blob> {
  const read = new Map<string, string>();
  const { content, parts } = packParts(
    planned.map((part) => ({ ...part, members: part.members.map((member) => hashed(member, read)) })),
    {
      open: () => (source ? store.open(source.space, source.digest) : Promise.reject(new PackageDamaged("no source"))),
      sha1Of: ({ path, sha1 }) => sha1 ?? read.get(path),
    },
  );
  const { signal } = upload.scratch;
  if (signal) addAbortSignal(signal, content);
  const note = (): string => toNote(filesOf(planned, read), parts);
  try {
    return await store.put(upload.space, "package", content, {
      maxBytes: upload.maxBytes,
      note,
      scratch: upload.scratch,
    });
  } catch (error) {
    if (error instanceof PackageDamaged && source) {
      // Nothing is taken from it any more.
      await store.writeNote(source.space, source.digest, "{}");
      throw new ArchiveRejected("a package that has some of its files is damaged; push again", { cause: error });
    }
    // Some contradictions between a zip's entries and its directory appear only during unpacking.
    if (error instanceof ArchiveRejected) throw error;
    // Nothing of the zip is unpacked here: a conflict of files is the store's own.
    if (isArchiveFault(error) && !isConflict(error))
      throw new ArchiveRejected(`its content is broken: ${error.message}`, { cause: error });
    throw error;
  }
}

function filesOf(
  planned: readonly PlannedPart[],
  read: ReadonlyMap<string, string>,
): Map<string, { path: string; size: number }> {
  const files = new Map<string, { path: string; size: number }>();
  for (const { path, size, sha1 = read.get(path) } of planned.flatMap(({ members }) => members))
    if (sha1 !== undefined) files.set(sha1, { path, size });
  return files;
}

function hashed(member: PackageMember, read: Map<string, string>): PackageMember {
  if (!member.content || member.sha1 !== undefined) return member;
  return { ...member, content: hashing(member, member.content, read) };
}

/** Opens a member so that its SHA-1 is in `read`, by its path, once it has been read. */
function hashing(
  member: TarMember,
  open: NonNullable<TarMember["content"]>,
  read: Map<string, string>,
): () => Promise<Readable> {
  return async () => {
    const hash = createHash("sha1");
    const through = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
      flush(done) {
        read.set(member.path, hash.digest("hex"));
        done();
      },
    });
    const source = await open();
    source.on("error", (error) => through.destroy(error));
    return source.pipe(through);
  };
}
