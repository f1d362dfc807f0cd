// Receives an upload: checks the zip, adds files from earlier packages, and stores one deterministic tar.gz by digest.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ArchiveRejected, checkTree } from "../archive/archive-path.ts";
import { packMembers, readTar, type TarMember } from "../archive/tar.ts";
import { type AcceptedZip, defaultZipLimits, openZip, type ZipLimits } from "../archive/zip.ts";
import { type Blob, type BlobStore, limitBytes } from "../blob-store.ts";
import {
  checkResource,
  findFiles,
  type KnownFile,
  listNewestPackages,
  type PackageSource,
  type Resource,
  toNote,
} from "./resources.ts";

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
  try {
    if (upload.bits !== undefined)
      zip = await openZip(await toFile(upload.bits, scratch, upload.maxBytes), upload.limits);
    const matched = await collectMatched(store, upload, scratch);
    // Files of this upload win over those of earlier packages.
    const sent = new Set(zip?.members.map((member) => member.path));
    const members: TarMember[] = [...(zip?.members ?? []), ...matched.filter((member) => !sent.has(member.path))];
    if (!members.some((member) => member.type === "file"))
      throw new ArchiveRejected("it has no files; is the path to the app right?");
    checkTree(members);
    return await storeMembers(store, upload, members);
  } finally {
    zip?.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

async function toFile(bits: Readable | string, scratch: string, maxBytes: number): Promise<string> {
  const file = join(scratch, "bits.zip");
  await pipeline(
    typeof bits === "string" ? createReadStream(bits) : bits,
    limitBytes(maxBytes),
    createWriteStream(file),
  );
  return file;
}

async function storeMembers(store: BlobStore, upload: PackageUpload, members: readonly TarMember[]): Promise<Blob> {
  const files = new Map<string, { path: string; size: number }>();
  const hashed = members.map((member) => ({
    ...member,
    content: member.content && hashing(member, member.content, files),
  }));
  const blob = await store
    .put(upload.space, "package", packMembers(hashed), { maxBytes: upload.maxBytes })
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
  await store.writeNote(upload.space, blob.digest, toNote(files));
  return blob;
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

async function collectMatched(store: BlobStore, upload: PackageUpload, scratch: string): Promise<TarMember[]> {
  const resources = (upload.resources ?? []).map(checkResource);
  const limits = upload.limits ?? defaultZipLimits;
  if (resources.length > limits.maxEntries)
    throw new ArchiveRejected(`it has ${resources.length} resources, more than the ${limits.maxEntries} allowed`);
  const sources = [...(await listNewestPackages(store, upload.space)), ...(upload.sources ?? [])];
  const known = await findFiles(store, sources, new Set(resources.map((resource) => resource.sha1)));
  const missing = resources.find((resource) => known.get(resource.sha1)?.size !== resource.size);
  if (missing)
    throw new ArchiveRejected(
      `the resource ${JSON.stringify(missing.path)} (SHA-1 ${missing.sha1}) is not known any more; push again`,
    );
  await extractFiles({ store, scratch, maxBytes: limits.maxUnpackedBytes }, known);
  return resources.map(({ path, mode, sha1, size }) => ({
    path,
    mode,
    size,
    type: "file",
    content: () => createReadStream(join(scratch, sha1)),
  }));
}

/** Writes each known content to `<scratch>/<sha1>`, reading each package once. */
async function extractFiles(
  from: { store: BlobStore; scratch: string; maxBytes: number },
  known: ReadonlyMap<string, KnownFile>,
): Promise<void> {
  const bySource = new Map<PackageSource, Map<string, string>>();
  for (const [sha1, file] of known) {
    const wanted = bySource.get(file.source) ?? new Map<string, string>();
    bySource.set(file.source, wanted.set(file.path, sha1));
  }
  for (const [{ space, digest }, wanted] of bySource) {
    await readTar(await from.store.open(space, digest), from.maxBytes, async (header, body) => {
      const sha1 = wanted.get(header.name);
      if (sha1 === undefined) body.resume();
      else await pipeline(body, createWriteStream(join(from.scratch, sha1)));
    });
  }
}
