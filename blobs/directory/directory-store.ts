// The content store of one machine: a directory. `<root>/<space>/<kind>/<hex>`, notes beside as `<hex>.note`. Equal content of several spaces is one file: each
// name is a hard link to `<root>/.content/<hex>`. Nobody reads by that name, so the key of access stays the space.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { READ_BYTES } from "../archive/file-writer.ts";
import {
  blobKinds,
  type BlobKind,
  BlobNotFound,
  type BlobStore,
  checkBlobName,
  type Digest,
  type StoredBlob,
} from "../blob-store.ts";
import {
  blobPath,
  CONTENT_FOLDER,
  contentPath,
  entriesOf,
  exists,
  ifAbsent,
  makeFolder,
  markNew,
  writeNote,
} from "./files.ts";
import { claimProcessFolder } from "../scratch/process-folder.ts";
import { putBlob, takeFile, tryLink } from "./put-blob.ts";

/** Versions before the folders of processes wrote into `.incoming` itself, and may still run beside this one: what they left half written goes after this time. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** Opens the store under `root`, which is made when absent. */
export async function createDirectoryStore(root: string): Promise<BlobStore> {
  const allIncoming = join(root, ".incoming");
  // Several processes may share one store.
  const incoming = await claimProcessFolder(allIncoming);
  await removeAbandoned(allIncoming);
  await removeUnlinkedContent(root);
  const findPath = (space: string, digest: Digest) => findBlob(root, space, digest);
  return {
    put: async (space, kind, content, { maxBytes, note, scratch }) => {
      checkBlobName(space);
      return putBlob({ root, incoming, space, kind, maxBytes, note, scratch }, content);
    },
    putFile: (space, kind, file, { maxBytes }) => {
      checkBlobName(space);
      return takeFile({ root, incoming, space, kind, maxBytes }, file);
    },
    async open(space, digest) {
      const path = await findPath(space, digest);
      if (!path) throw new BlobNotFound(space, digest);
      return openFile(path, space, digest);
    },
    async find(space, digest) {
      const path = await findPath(space, digest);
      return path ? { digest, size: (await stat(path)).size } : undefined;
    },
    has: async (space, digest) => (await findPath(space, digest)) !== undefined,
    copy: (from, space, kind) => copyBlob({ root, incoming }, from, { space, kind }),
    remove: (space, digest, { lastPutBefore = Infinity } = {}) => removeBlob(root, space, digest, lastPutBefore),
    async touch(space, digest) {
      const path = await findPath(space, digest);
      if (path) await markNew(path);
    },
    list: (filter = {}) => listBlobs(root, filter),
    async writeNote(space, digest, note) {
      const path = await findPath(space, digest);
      if (!path) throw new BlobNotFound(space, digest);
      await writeNote(incoming, path, note);
    },
    async findNote(space, digest) {
      const path = await findPath(space, digest);
      return path && (await exists(`${path}.note`)) ? readFile(`${path}.note`, "utf8") : undefined;
    },
  };
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const entry of await entriesOf(folder)) {
    if (!entry.isFile()) continue;
    const path = join(folder, entry.name);
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      (error: unknown) => ifAbsent(error, Date.now()),
    );
    if (modified < Date.now() - ABANDONED_MS) await rm(path, { force: true });
  }
}

async function findBlob(root: string, space: string, digest: Digest): Promise<string | undefined> {
  checkBlobName(space, digest);
  for (const kind of blobKinds) {
    const path = blobPath(root, space, kind, digest);
    if (await exists(path)) return path;
  }
  return undefined;
}

interface Folders {
  root: string;
  incoming: string;
}

async function copyBlob(
  { root, incoming }: Folders,
  from: { space: string; digest: Digest },
  { space, kind }: { space: string; kind: BlobKind },
): Promise<void> {
  checkBlobName(space);
  const source = await findBlob(root, from.space, from.digest);
  if (!source) throw new BlobNotFound(from.space, from.digest);
  const target = blobPath(root, space, kind, from.digest);
  await makeFolder(dirname(target));
  if (!(await exists(target)) && !(await tryLink(source, target))) await copyWhole(incoming, source, target);
  if (source !== target && (await exists(`${source}.note`)))
    await copyWhole(incoming, `${source}.note`, `${target}.note`);
  await markNew(target);
}

/** A copy has its name only once it is complete. */
async function copyWhole(incoming: string, source: string, target: string): Promise<void> {
  const temporary = join(await makeFolder(incoming), randomUUID());
  try {
    await copyFile(source, temporary);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function removeBlob(root: string, space: string, digest: Digest, lastPutBefore: number): Promise<void> {
  checkBlobName(space, digest);
  for (const kind of blobKinds) {
    const path = blobPath(root, space, kind, digest);
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      (error: unknown) => ifAbsent(error, 0),
    );
    if (modified >= lastPutBefore) continue;
    await rm(path, { force: true });
    await rm(`${path}.note`, { force: true });
  }
  await removeIfUnlinked(contentPath(root, digest));
}

/** A content that no space has a name for. A name given at the same moment keeps the file: only a later equal content is stored again. */
async function removeIfUnlinked(content: string): Promise<void> {
  const links = await stat(content).then(
    ({ nlink }) => nlink,
    (error: unknown) => ifAbsent(error, undefined),
  );
  if (links === 1) await rm(content, { force: true });
}

/** Contents whose last space lost them to a process that was killed in between. */
async function removeUnlinkedContent(root: string): Promise<void> {
  const folder = join(root, CONTENT_FOLDER);
  for (const { name } of await entriesOf(folder)) await removeIfUnlinked(join(folder, name));
}

function openFile(path: string, space: string, digest: Digest): Promise<Readable> {
  const stream = createReadStream(path, { highWaterMark: READ_BYTES });
  return new Promise((resolve, reject) => {
    stream.once("open", () => resolve(stream));
    stream.once("error", (cause) => reject(new BlobNotFound(space, digest, { cause })));
  });
}

async function listBlobs(root: string, filter: { space?: string; kind?: BlobKind }): Promise<StoredBlob[]> {
  if (filter.space !== undefined) checkBlobName(filter.space);
  const spaces =
    filter.space === undefined
      ? (await entriesOf(root))
          .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
          .map((entry) => entry.name)
      : [filter.space];
  const kinds = filter.kind ? [filter.kind] : blobKinds;
  const found: StoredBlob[] = [];
  for (const space of spaces) for (const kind of kinds) found.push(...(await listKind(root, space, kind)));
  return found;
}

async function listKind(root: string, space: string, kind: BlobKind): Promise<StoredBlob[]> {
  const directory = join(root, space, kind);
  const found: StoredBlob[] = [];
  for (const { name } of await entriesOf(directory)) {
    if (!/^[0-9a-f]{64}$/.test(name)) continue;
    const { size, mtimeMs } = await stat(join(directory, name));
    found.push({ space, kind, digest: `sha256:${name}`, size, modified: mtimeMs });
  }
  return found;
}
