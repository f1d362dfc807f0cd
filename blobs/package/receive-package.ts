// Receives an upload: checks the zip, adds files from earlier packages, and stores one deterministic tar.gz by digest.
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ArchiveRejected, checkTree } from "../archive/archive-path.ts";
import { packMembers, type TarMember } from "../archive/tar.ts";
import { type AcceptedZip, openZip, type ZipLimits } from "../archive/zip.ts";
import { type Blob, type BlobStore, BlobTooLarge, limitBytes } from "../blob-store.ts";
import { type MatchedFiles, openMatched, type PackageMember } from "./matched-files.ts";
import { type PackageSource, type Resource, toNote } from "./resources.ts";

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
  /** Where temporary files go; the system's directory unless said. */
  scratch?: string;
}

/**
 * Stores an uploaded package and returns the value of `Package.spec.content`.
 * @throws ArchiveRejected (422; the message says why), BlobTooLarge (413)
 */
export async function receivePackage(store: BlobStore, upload: PackageUpload): Promise<Blob> {
  const scratch = await mkdtemp(join(upload.scratch ?? tmpdir(), "cupola-upload-"));
  let zip: AcceptedZip | undefined;
  let matched: MatchedFiles | undefined;
  try {
    if (upload.bits !== undefined)
      zip = await openZip(await toFile(upload.bits, scratch, upload.maxBytes), upload.limits);
    // Files of this upload win over those of earlier packages.
    const sent = new Set(zip?.members.map((member) => member.path));
    matched = await openMatched(store, upload, { scratch, isSent: (path) => sent.has(path) });
    const members: PackageMember[] = [...(zip?.members ?? []), ...matched.members];
    if (!members.some((member) => member.type === "file"))
      throw new ArchiveRejected("it has no files; is the path to the app right?");
    checkTree(members);
    return await storeMembers(store, upload, members);
  } finally {
    zip?.close();
    matched?.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

async function toFile(bits: Readable | string, scratch: string, maxBytes: number): Promise<string> {
  if (typeof bits === "string") {
    if ((await stat(bits)).size > maxBytes) throw new BlobTooLarge(maxBytes);
    return bits;
  }
  const file = join(scratch, "bits.zip");
  await pipeline(bits, limitBytes(maxBytes), createWriteStream(file));
  return file;
}

async function storeMembers(store: BlobStore, upload: PackageUpload, members: readonly PackageMember[]): Promise<Blob> {
  const files = new Map<string, { path: string; size: number }>();
  const hashed = members.map((member) => {
    if (member.sha1 !== undefined) files.set(member.sha1, { path: member.path, size: member.size });
    return member.content && member.sha1 === undefined
      ? { ...member, content: hashing(member, member.content, files) }
      : member;
  });
  return store
    .put(upload.space, "package", packMembers(hashed), { maxBytes: upload.maxBytes, note: () => toNote(files) })
    .catch((error: unknown) => {
      // Some contradictions between a zip's entries and its directory appear only during unpacking.
      if (error instanceof ArchiveRejected) throw error;
      if (
        error instanceof Error &&
        /bytes in the stream|invalid|incorrect|unexpected end|Size mismatch/i.test(error.message)
      )
        throw new ArchiveRejected(`its content is broken: ${error.message}`, { cause: error });
      throw error;
    });
}

/** Opens a member so that its SHA-1 is in `files` once it has been read. */
function hashing(
  member: TarMember,
  open: NonNullable<TarMember["content"]>,
  files: Map<string, { path: string; size: number }>,
): () => Promise<Readable> {
  return async () => {
    const hash = createHash("sha1");
    const through = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
      flush(done) {
        files.set(hash.digest("hex"), { path: member.path, size: member.size });
        done();
      },
    });
    const source = await open();
    source.on("error", (error) => through.destroy(error));
    return source.pipe(through);
  };
}
