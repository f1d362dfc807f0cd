// Keeps a stream in a temporary file until it is uploaded: only then is its digest known, and an upload may have to begin again.
import { createHash, type Hash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Transform, Writable, type Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { limitBytes, type Blob, type Digest } from "../blob-store.ts";
import { processScratch, type ScratchFolder } from "../scratch/scratch-space.ts";
import type { BlobSource } from "./blob-upload.ts";
import { fileSource } from "./push-layout.ts";

/** A content in a file. `layerDigest` is of what a gzip unpacks to; absent when the content is no gzip. */
export interface Spooled extends Blob {
  source: BlobSource;
  layerDigest: Digest | undefined;
  remove(): Promise<void>;
}

export interface SpoolOptions {
  maxBytes: number;
  owner: string;
  /** The folder of the same upload. */
  beside?: ScratchFolder | undefined;
}

/** Writes the stream to a temporary file of the owner's share. @throws BlobTooLarge, ScratchFull, the stream's error, or ENOSPC; the file is removed then */
export async function spool(content: Readable, { maxBytes, owner, beside }: SpoolOptions): Promise<Spooled> {
  const folder = await processScratch.open(owner, undefined, beside);
  const remove = () => folder.remove();
  const path = join(folder.path, "content");
  const hash = createHash("sha256");
  const layer = new UnpackedDigest();
  let size = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      layer.write(chunk).then(() => done(null, chunk), done);
    },
  });
  try {
    await pipeline(content, limitBytes(maxBytes), folder.counted(), measure, createWriteStream(path, { mode: 0o600 }));
    const digest = `sha256:${hash.digest("hex")}`;
    return { digest, size, source: await fileSource(path, digest), layerDigest: await layer.end(), remove };
  } catch (error) {
    await layer.end();
    await remove();
    throw error;
  }
}

/** The digest of a gzip's content. Anything else than one whole gzip has none. */
class UnpackedDigest {
  readonly #gunzip = createGunzip();
  readonly #hash: Hash = createHash("sha256");
  readonly #done: Promise<boolean>;
  #failed = false;

  constructor() {
    const hash = this.#hash;
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done();
      },
    });
    this.#done = pipeline(this.#gunzip, sink).then(
      () => true,
      () => {
        this.#failed = true;
        return false;
      },
    );
  }

  /** Resolves when more may come. */
  async write(chunk: Buffer): Promise<void> {
    if (this.#failed || this.#gunzip.destroyed || this.#gunzip.write(chunk)) return;
    await Promise.race([new Promise((resolve) => this.#gunzip.once("drain", resolve)), this.#done]);
  }

  async end(): Promise<Digest | undefined> {
    if (!this.#gunzip.destroyed) this.#gunzip.end();
    await finished(this.#gunzip, { readable: false }).catch(() => undefined);
    return (await this.#done) ? `sha256:${this.#hash.digest("hex")}` : undefined;
  }
}
