// The digests of files that have not changed since an earlier push: a large folder is not read again for them. Git tells changed files the same way.
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceFile } from "./pack-source.ts";

/** A file that changed so shortly before may change again within the same tick of its file system's clock. */
const TOO_NEW_MS = 2000;
/** Bound on source folders; those that were pushed last are kept. */
const KEPT_FOLDERS = 50;

type Row = [stamp: string, sha1: string];

/** Digests of a source folder. */
export interface KnownDigests {
  /** SHA-1 in hex; undefined when the file is new or has changed. */
  find(file: SourceFile): string | undefined;
  /** @param now in milliseconds since 1970, not after the file was read */
  add(file: SourceFile, sha1: string, now: number): void;
  /** Keeps those that were found or added. A cache that cannot be written is none. */
  save(): Promise<void>;
}

/** @param cache a folder of `cup` @param source the folder of the app */
export async function loadDigests(cache: string, source: string): Promise<KnownDigests> {
  const file = join(cache, `${createHash("sha256").update(source).digest("hex").slice(0, 32)}.json`);
  const before = await read(file);
  const now = new Map<string, Row>();
  let isNew = false;
  return {
    find({ path, version }) {
      const row = before.get(path);
      if (!row || row[0] !== version?.stamp) return undefined;
      now.set(path, row);
      return row[1];
    },
    add({ path, version }, sha1, at) {
      if (!version || at - version.changedAt < TOO_NEW_MS) return;
      now.set(path, [version.stamp, sha1]);
      isNew = true;
    },
    async save() {
      // The time of a push stands for its place among those that are kept.
      await (isNew ? write(cache, file, now) : utimes(file, new Date(), new Date())).catch(() => undefined);
    },
  };
}

/** Nothing of a file that is missing or damaged. */
async function read(file: string): Promise<ReadonlyMap<string, Row>> {
  try {
    const rows: unknown = JSON.parse(await readFile(file, "utf8"));
    return new Map(Object.entries(rows as Record<string, unknown>).filter((entry) => isRow(entry)));
  } catch {
    return new Map();
  }
}

function isRow(entry: [string, unknown]): entry is [string, Row] {
  const [, row] = entry;
  return Array.isArray(row) && typeof row[0] === "string" && /^[0-9a-f]{40}$/.test(String(row[1]));
}

async function write(cache: string, file: string, rows: ReadonlyMap<string, Row>): Promise<void> {
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeFile(temporary, JSON.stringify(Object.fromEntries(rows)), { mode: 0o600 });
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  await removeOldest(cache);
}

async function removeOldest(cache: string): Promise<void> {
  const names = await readdir(cache);
  if (names.length <= KEPT_FOLDERS) return;
  const files = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(cache, name))).mtimeMs })));
  const oldest = files.sort((one, other) => other.at - one.at).slice(KEPT_FOLDERS);
  await Promise.all(oldest.map(({ name }) => rm(join(cache, name), { force: true })));
}
