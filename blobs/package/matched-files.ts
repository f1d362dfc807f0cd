// The files of an upload that stand in earlier packages: read from there as the new package is packed, without a copy in between where their order allows it.
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ArchiveRejected } from "../archive/archive-path.ts";
import { SMALL_BYTES } from "../archive/file-writer.ts";
import { comparePaths, openTar, readTar, type TarMember } from "../archive/tar.ts";
import { defaultZipLimits, type ZipLimits } from "../archive/zip.ts";
import type { BlobStore } from "../blob-store.ts";
import { countBytes, type ScratchMeter } from "../scratch/scratch-space.ts";
import {
  checkResource,
  findFiles,
  type KnownFile,
  listNewestPackages,
  type PackageSource,
  type Resource,
} from "./resources.ts";

/** A member of a package; `sha1` is that of its content, where it is known. */
export interface PackageMember extends TarMember {
  sha1?: string;
}

/** Members whose contents are opened in the order of their paths. Close it when they are read. */
export interface MatchedFiles {
  members: PackageMember[];
  close(): void;
}

interface MatchedUpload {
  space: string;
  resources?: readonly Resource[];
  sources?: readonly PackageSource[];
  limits?: ZipLimits;
}

type CheckedResource = ReturnType<typeof checkResource>;

/** Files that earlier packages have. */
export interface FoundFiles {
  wanted: readonly CheckedResource[];
  /** By SHA-1. */
  known: ReadonlyMap<string, KnownFile>;
}

/**
 * Looks up the resources of an upload, but for those whose path was sent.
 * @throws ArchiveRejected for a resource that is malformed, or not known any more
 */
export async function findMatched(
  store: BlobStore,
  upload: MatchedUpload,
  isSent: (path: string) => boolean,
): Promise<FoundFiles> {
  const resources = (upload.resources ?? []).map(checkResource);
  // A store in a registry takes several requests to list its packages.
  if (resources.length === 0) return { wanted: [], known: new Map() };
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
  return { wanted: resources.filter(({ path }) => !isSent(path)), known };
}

/** A member without content. */
export function listMember({ path, mode, sha1, size }: CheckedResource): PackageMember {
  return { path, mode, size, sha1, type: "file" };
}

/** Opens the contents of found files. */
export async function openMatched(from: From, { wanted, known }: FoundFiles): Promise<MatchedFiles> {
  if (wanted.length === 0) return { members: [], close: () => undefined };
  const source = inOneReading(wanted, known);
  return source ? readThrough(from, { source, wanted, known }) : copyFirst(from, { wanted, known });
}

/** The one package that has all of them in the order in which the new package takes them; undefined when there is none. Pure. */
export function inOneReading(
  wanted: readonly Pick<CheckedResource, "path" | "sha1">[],
  known: ReadonlyMap<string, KnownFile>,
): PackageSource | undefined {
  const files = wanted.toSorted((a, b) => comparePaths(a.path, b.path)).map(({ sha1 }) => known.get(sha1));
  const [first] = files;
  const isInOrder = files.every((file, at) => {
    const before = files[at - 1];
    return file?.source === first?.source && (!before || (file && comparePaths(before.path, file.path) < 0));
  });
  return isInOrder ? first?.source : undefined;
}

interface From {
  store: BlobStore;
  /** Where copies go, and its meter. */
  folder: string;
  scratch: ScratchMeter;
  maxBytes: number;
}

async function readThrough(
  { store, maxBytes }: From,
  {
    source,
    wanted,
    known,
  }: { source: PackageSource; wanted: readonly CheckedResource[]; known: ReadonlyMap<string, KnownFile> },
): Promise<MatchedFiles> {
  const tar = openTar(await store.open(source.space, source.digest), maxBytes);
  return {
    members: wanted.map((file) => {
      const path = known.get(file.sha1)?.path ?? "";
      const member = toMember(file, () => tar.open(path));
      return file.size <= SMALL_BYTES ? { ...member, bytes: () => tar.bytes(path) } : member;
    }),
    close: () => tar.close(),
  };
}

async function copyFirst(
  from: From,
  { wanted, known }: { wanted: readonly CheckedResource[]; known: ReadonlyMap<string, KnownFile> },
): Promise<MatchedFiles> {
  await extractFiles(from, new Map(wanted.flatMap(({ sha1 }) => [[sha1, known.get(sha1)]] as const)));
  const toFile = ({ sha1 }: CheckedResource): string => join(from.folder, sha1);
  return {
    members: wanted.map((file) => toMember(file, () => createReadStream(toFile(file)))),
    close: () => undefined,
  };
}

function toMember(file: CheckedResource, content: NonNullable<TarMember["content"]>): PackageMember {
  return { ...listMember(file), content };
}

/** Writes each known content to `<scratch>/<sha1>`, reading each package once. */
async function extractFiles(from: From, known: ReadonlyMap<string, KnownFile | undefined>): Promise<void> {
  const bySource = new Map<PackageSource, Map<string, string>>();
  for (const [sha1, file] of known) {
    if (!file) continue;
    const wanted = bySource.get(file.source) ?? new Map<string, string>();
    bySource.set(file.source, wanted.set(file.path, sha1));
  }
  for (const [{ space, digest }, wanted] of bySource) {
    await readTar(await from.store.open(space, digest), from.maxBytes, async (header, body) => {
      const sha1 = wanted.get(header.name);
      if (sha1 === undefined) body.skip();
      else await pipeline(body.stream(), countBytes(from.scratch), createWriteStream(join(from.folder, sha1)));
    });
  }
}
