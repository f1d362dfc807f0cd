// The content store of one machine: a directory. `<root>/<space>/<kind>/<hex>`, notes beside as `<hex>.note`. Equal content of several spaces is one file: each
// name is a hard link to `<root>/.content/<hex>`. Nobody reads by that name, so the key of access stays the space.
import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream, createWriteStream, type Dirent } from "node:fs";
import {
  access,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  type Blob,
  blobKinds,
  type BlobKind,
  BlobNotFound,
  type BlobStore,
  checkBlobName,
  type Digest,
  limitBytes,
  type StoredBlob,
} from "../blob-store.ts";

/** Files that a killed process left half written are removed after this time; several processes may share one store. */
const abandonedUploadMs = 24 * 60 * 60 * 1000;
const contentFolder = ".content";

/** Opens the store under `root`, which is made when absent. */
export async function createDirectoryStore(root: string): Promise<BlobStore> {
  const incoming = join(root, ".incoming");
  await makeFolder(incoming);
  for (const { name } of await entriesOf(incoming)) {
    const modified = await stat(join(incoming, name)).then(
      ({ mtimeMs }) => mtimeMs,
      (error: unknown) => ifAbsent(error, Date.now()),
    );
    if (modified < Date.now() - abandonedUploadMs) await rm(join(incoming, name), { force: true });
  }
  await removeUnlinkedContent(root);
  const findPath = (space: string, digest: Digest) => findBlob(root, space, digest);
  return {
    put: (space, kind, content, { maxBytes }) => {
      checkBlobName(space);
      return putBlob({ root, incoming, space, kind, maxBytes }, content);
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
    copy: (from, space, kind) => copyBlob(root, from, { space, kind }),
    remove: (space, digest, { lastPutBefore = Infinity } = {}) => removeBlob(root, space, digest, lastPutBefore),
    async touch(space, digest) {
      const path = await findPath(space, digest);
      if (path) await markNew(path);
    },
    list: (filter = {}) => listBlobs(root, filter),
    async writeNote(space, digest, note) {
      const path = await findPath(space, digest);
      if (!path) throw new BlobNotFound(space, digest);
      const temporary = join(await makeFolder(incoming), randomUUID());
      try {
        // Flushed before it gets its name, or a power cut leaves an empty note.
        await writeFile(temporary, note, { mode: 0o600, flush: true });
        await rename(temporary, `${path}.note`);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
    async findNote(space, digest) {
      const path = await findPath(space, digest);
      return path && (await exists(`${path}.note`)) ? readFile(`${path}.note`, "utf8") : undefined;
    },
  };
}

async function findBlob(root: string, space: string, digest: Digest): Promise<string | undefined> {
  checkBlobName(space, digest);
  for (const kind of blobKinds) {
    const path = blobPath(root, space, kind, digest);
    if (await exists(path)) return path;
  }
  return undefined;
}

async function copyBlob(
  root: string,
  from: { space: string; digest: Digest },
  { space, kind }: { space: string; kind: BlobKind },
): Promise<void> {
  checkBlobName(space);
  const source = await findBlob(root, from.space, from.digest);
  if (!source) throw new BlobNotFound(from.space, from.digest);
  const target = blobPath(root, space, kind, from.digest);
  await makeFolder(dirname(target));
  if (!(await exists(target)) && !(await tryLink(source, target))) await copyWhole(root, source, target);
  if (source !== target && (await exists(`${source}.note`))) await copyWhole(root, `${source}.note`, `${target}.note`);
  await markNew(target);
}

/** A copy has its name only once it is complete. */
async function copyWhole(root: string, source: string, target: string): Promise<void> {
  const temporary = join(await makeFolder(join(root, ".incoming")), randomUUID());
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

interface PutTarget {
  root: string;
  incoming: string;
  space: string;
  kind: BlobKind;
  maxBytes: number;
}

async function putBlob(target: PutTarget, content: Readable): Promise<Blob> {
  // Created again: a person who frees disk space may have removed it.
  const temporary = join(await makeFolder(target.incoming), randomUUID());
  const hash = createHash("sha256");
  let size = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  try {
    await pipeline(
      content,
      limitBytes(target.maxBytes),
      measure,
      createWriteStream(temporary, { mode: 0o600, flush: true }),
    );
    const digest = `sha256:${hash.digest("hex")}`;
    await publish(temporary, target, digest);
    return { digest, size };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Gives a complete, synced file its names, and makes that of the space durable. */
async function publish(temporary: string, { root, space, kind }: PutTarget, digest: Digest): Promise<void> {
  const path = blobPath(root, space, kind, digest);
  const content = contentPath(root, digest);
  await makeFolder(dirname(path));
  await makeFolder(dirname(content));
  if ((await exists(path)) || (await tryLink(content, path))) {
    // Put again: clean-up counts its grace from here.
    await markNew(path);
    await unlink(temporary);
  } else await rename(temporary, path);
  await tryLink(path, content);
  const directory = await open(dirname(path), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Whether `name` is a link to `existing` now. Where that cannot be (no such file, a file system without links, too many links), the content is just stored again. */
async function tryLink(existing: string, name: string): Promise<boolean> {
  try {
    await link(existing, name);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "EEXIST", "EMLINK", "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) return false;
    throw error;
  }
}

async function markNew(path: string): Promise<void> {
  await utimes(path, new Date(), new Date());
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
  const folder = join(root, contentFolder);
  for (const { name } of await entriesOf(folder)) await removeIfUnlinked(join(folder, name));
}

function contentPath(root: string, digest: Digest): string {
  return join(root, contentFolder, digest.slice("sha256:".length));
}

function openFile(path: string, space: string, digest: Digest): Promise<Readable> {
  const stream = createReadStream(path);
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

function blobPath(root: string, space: string, kind: BlobKind, digest: Digest): string {
  return join(root, space, kind, digest.slice("sha256:".length));
}

async function makeFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    (error: unknown) => ifAbsent(error, false),
  );
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  return readdir(directory, { withFileTypes: true }).catch((error: unknown) => ifAbsent(error, []));
}

function ifAbsent<T>(error: unknown, instead: T): T {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return instead;
  throw error;
}
