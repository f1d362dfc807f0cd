// Writes the files of an archive, several small ones at once.
import { createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Files up to this size are read and written at once. */
export const SMALL_BYTES = 4 * 2 ** 20;
/** Bytes of an archive in each read. Node's default of 64 KiB takes three times as long for a large one. */
export const READ_BYTES = 2 ** 20;
/** Small files under way at once, whose bytes are in memory. */
const WRITTEN_AT_ONCE = 8;

/** Calls exactly one of these, once. */
export interface FileContent {
  stream(): Readable;
  /** All of it, for a small file: streams cost more than its bytes. */
  bytes(): Promise<Buffer>;
}

/** A file to write. */
interface NewFile {
  mode: number;
  size: number;
  content: FileContent;
}

export interface FileWriter {
  makeFolder(path: string): Promise<void>;
  /** A small file is there when `done` resolves. @throws Error for this file, or for an earlier one; EEXIST when it is there already */
  write(path: string, file: NewFile): Promise<void>;
  /** Resolves when nothing is written any more. */
  ended(): Promise<void>;
  /** @throws the first error of a small file */
  done(): Promise<void>;
}

export function createFileWriter(): FileWriter {
  const made = new Set<string>();
  const writing = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const throwFailure = (): void => {
    if (failure) throw failure.error;
  };
  return {
    async makeFolder(path) {
      if (made.has(path)) return;
      await mkdir(path, { recursive: true });
      made.add(path);
    },
    async write(path, { mode, size, content }) {
      throwFailure();
      if (size > SMALL_BYTES) return pipeline(content.stream(), createWriteStream(path, { flags: "wx", mode }));
      const bytes = await content.bytes();
      const written = writeFile(path, bytes, { flag: "wx", mode }).then(
        () => void writing.delete(written),
        (error: unknown) => {
          writing.delete(written);
          failure ??= { error };
        },
      );
      writing.add(written);
      if (writing.size >= WRITTEN_AT_ONCE) await Promise.race(writing);
    },
    async ended() {
      await Promise.all(writing);
    },
    async done() {
      await Promise.all(writing);
      throwFailure();
    },
  };
}
