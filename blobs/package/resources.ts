// Resource matching: which files a space has sent before. The index of a package is kept as a note beside it.
import type { BlobStore, Digest } from "../blob-store.ts";
import { ArchiveRejected, cleanPath } from "../archive/archive-path.ts";

/** One file of a client's list, as `POST /v3/resource_matches` and the `resources` part of an upload have it. */
export interface Resource {
  path: string;
  /** Permission bits in octal, such as "644". */
  mode: string;
  /** SHA-1 in hex. */
  sha1: string;
  size: number;
}

/** Where a content known by SHA-1 is: in which package, at which path. */
export interface KnownFile {
  digest: Digest;
  path: string;
  size: number;
}

/** Only this many of a space's newest packages are matched against. */
const maxPackages = 20;
/** Smaller files are cheaper sent than looked up. */
export const minResourceBytes = 1;

type Index = Record<string, [path: string, size: number]>;

/** The note of a package. */
export function toNote(files: ReadonlyMap<string, { path: string; size: number }>): string {
  const index: Index = {};
  for (const [sha1, { path, size }] of files) index[sha1] = [path, size];
  return JSON.stringify({ files: index });
}

/** Where each of these contents (SHA-1 in hex) is found in the space. What is in no package is not in the map. */
export async function findFiles(
  store: BlobStore,
  space: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, KnownFile>> {
  const found = new Map<string, KnownFile>();
  if (wanted.size === 0) return found;
  const packages = (await store.list({ space, kind: "package" }))
    .sort((a, b) => b.modified - a.modified)
    .slice(0, maxPackages);
  for (const { digest } of packages) {
    const index = await readIndex(store, space, digest);
    for (const sha1 of wanted) {
      const row = index[sha1];
      if (row && !found.has(sha1)) found.set(sha1, { digest, path: row[0], size: row[1] });
    }
    if (found.size === wanted.size) break;
  }
  return found;
}

/** The resources, of those given, that need not be uploaded. Same SHA-1 and same size; other spaces' files never match. */
export async function matchResources(
  store: BlobStore,
  space: string,
  resources: readonly Resource[],
): Promise<Resource[]> {
  const known = await findFiles(
    store,
    space,
    new Set(resources.filter((resource) => resource.size >= minResourceBytes).map((resource) => resource.sha1)),
  );
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

async function readIndex(store: BlobStore, space: string, digest: Digest): Promise<Index> {
  const note = await store.findNote(space, digest);
  if (note === undefined) return {};
  return (JSON.parse(note) as { files?: Index }).files ?? {};
}
