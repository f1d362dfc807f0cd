// Resource matching: which files are known from earlier packages. The index of a package is kept as a note beside it.
import type { BlobStore, Digest } from "../blob-store.ts";
import { ArchiveRejected, cleanPath } from "../archive/archive-path.ts";
import type { Parts } from "../archive/parts.ts";

/** A file of a client's list, as `POST /v3/resource_matches` and the `resources` part of an upload have it. */
export interface Resource {
  path: string;
  /** Permission bits in octal, such as "644". */
  mode: string;
  /** SHA-1 in hex. */
  sha1: string;
  size: number;
}

/** A stored package to look for files in. */
export interface PackageSource {
  space: string;
  digest: Digest;
}

/** A content known by SHA-1: its package and its path there. */
export interface KnownFile {
  source: PackageSource;
  path: string;
  size: number;
}

/** So many of a space's newest packages are looked through. */
const maxPackages = 20;
/** A store in a registry answers each read in milliseconds, and a push waits for all of them. */
const READS_AT_ONCE = 5;
/** Smaller files are cheaper sent than looked up. */
export const minResourceBytes = 1;

type Index = Record<string, [path: string, size: number]>;

/** Known facts about a package: places of its files, by SHA-1, and its parts. */
interface Note {
  files: Index;
  parts: Parts;
}

/** The note of a package. */
export function toNote(files: ReadonlyMap<string, { path: string; size: number }>, parts: Parts): string {
  const index: Index = {};
  for (const [sha1, { path, size }] of files) index[sha1] = [path, size];
  return JSON.stringify({ files: index, parts } satisfies Note);
}

/** The parts of a package; none when it is older than parts. */
export async function readParts(store: BlobStore, source: PackageSource): Promise<Parts> {
  return (await readNote(store, source)).parts;
}

/** The newest packages of a space. */
export async function listNewestPackages(store: BlobStore, space: string): Promise<PackageSource[]> {
  const packages = await store.list({ space, kind: "package" });
  return packages
    .sort((a, b) => b.modified - a.modified)
    .slice(0, maxPackages)
    .map(({ digest }) => ({ space, digest }));
}

/** Where each of these contents (SHA-1 in hex) is found. Unknown contents are not in the map; the first package wins. */
export async function findFiles(
  store: BlobStore,
  sources: readonly PackageSource[],
  wanted: ReadonlySet<string>,
): Promise<Map<string, KnownFile>> {
  const found = new Map<string, KnownFile>();
  // The newest package has most of the files, so not all are read at once.
  for (let at = 0; at < sources.length && found.size < wanted.size; at += READS_AT_ONCE) {
    const batch = sources.slice(at, at + READS_AT_ONCE);
    const indexes = await Promise.all(batch.map((source) => readNote(store, source)));
    for (const [nth, source] of batch.entries()) addFiles(found, source, indexes[nth]?.files ?? {}, wanted);
  }
  return found;
}

function addFiles(
  found: Map<string, KnownFile>,
  source: PackageSource,
  index: Index,
  wanted: ReadonlySet<string>,
): void {
  for (const sha1 of wanted) {
    const row = Object.hasOwn(index, sha1) ? index[sha1] : undefined;
    if (row && !found.has(sha1)) found.set(sha1, { source, path: row[0], size: row[1] });
  }
}

/** The resources, of those given, that need not be uploaded: the same SHA-1 and size is in one of the packages. */
export async function matchResources(
  store: BlobStore,
  sources: readonly PackageSource[],
  resources: readonly Resource[],
): Promise<Resource[]> {
  const wanted = new Set(resources.filter(({ size }) => size >= minResourceBytes).map(({ sha1 }) => sha1));
  const known = await findFiles(store, sources, wanted);
  // The upload that relies on this answer comes next: its packages must not be removed in between.
  const sourcesUsed = new Set([...known.values()].map(({ source }) => source));
  await Promise.all([...sourcesUsed].map(({ space, digest }) => store.touch(space, digest)));
  return resources.filter((resource) => known.get(resource.sha1)?.size === resource.size);
}

/** A checked resource of an upload: path cleaned, mode as a number. @throws ArchiveRejected */
export function checkResource(resource: Resource): { path: string; mode: number; sha1: string; size: number } {
  const path = cleanPath(resource.path);
  if (path === "") throw new ArchiveRejected("a resource has an empty path");
  if (!/^[0-9a-f]{40}$/.test(resource.sha1))
    throw new ArchiveRejected(`the resource ${JSON.stringify(path)} has no SHA-1 checksum`);
  const mode = /^[0-7]{3,6}$/.test(resource.mode) ? Number.parseInt(resource.mode, 8) & 0o777 : Number.NaN;
  if (!(mode >= 0o600))
    throw new ArchiveRejected(
      `the resource ${JSON.stringify(path)} has mode ${JSON.stringify(resource.mode)}; it must be octal and at least 0600`,
    );
  return { path, mode, sha1: resource.sha1, size: resource.size };
}

/** A note that is damaged matches nothing: the files are sent again. */
async function readNote(store: BlobStore, { space, digest }: PackageSource): Promise<Note> {
  const note = await store.findNote(space, digest);
  try {
    const { files = {}, parts = {} } = JSON.parse(note ?? "{}") as Partial<Note>;
    return { files, parts };
  } catch {
    return { files: {}, parts: {} }; // a crash cut it short
  }
}
