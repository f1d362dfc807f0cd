// gzip that stores what does not get smaller, such as pictures and archives: compressing it would cost most of a large push. Equal bytes give equal output.
import { promisify } from "node:util";
import { pipeline, type Readable } from "node:stream";
import { constants, createGzip, deflateRawSync, type Gzip, type ZlibParams } from "node:zlib";

/** The level is chosen for each block of the input, wherever its chunks end. */
const BLOCK_BYTES = 256 * 1024;
/** So much from the middle of a block stands for it. */
const SAMPLE_BYTES = 4096;
/** Several times as fast as the default; blobs are read nearby. */
const FAST_LEVEL = 1;
const STORED_LEVEL = 0;
/** A sample that keeps so much of its size is stored. */
const WORTH_RATIO = 0.95;

/** Compresses a stream, which is destroyed with the result. An error of the source is one of the result. */
export function gzipAdaptively(source: AsyncIterable<Buffer>): Readable {
  // Its types leave `params` out.
  const gzip = createGzip({ level: FAST_LEVEL }) as Gzip & ZlibParams;
  const setLevel = promisify((level: number, done: (error?: Error | null) => void) =>
    gzip.params(level, constants.Z_DEFAULT_STRATEGY, done),
  );
  let current = FAST_LEVEL;
  const chooseLevels = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const block of toBlocks(chunks)) {
      const wanted = levelOf(block);
      // What was yielded before is in gzip's queue by now, so the level changes exactly here.
      if (wanted !== current) await setLevel((current = wanted));
      yield block;
    }
  };
  // The error reaches whoever reads the result.
  pipeline(source, chooseLevels, gzip, () => undefined);
  return gzip;
}

function levelOf(block: Buffer): number {
  return isWorthCompressing(block) ? FAST_LEVEL : STORED_LEVEL;
}

/** Judges by a sample from the middle: the start of a file is often a header. */
export function isWorthCompressing(bytes: Buffer): boolean {
  const at = Math.max(0, (bytes.length - SAMPLE_BYTES) >> 1);
  const sample = bytes.subarray(at, at + SAMPLE_BYTES);
  return deflateRawSync(sample, { level: FAST_LEVEL }).length < sample.length * WORTH_RATIO;
}

async function* toBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (let chunk of chunks) {
    while (size + chunk.length >= BLOCK_BYTES) {
      const rest = BLOCK_BYTES - size;
      yield Buffer.concat([...parts, chunk.subarray(0, rest)]);
      chunk = chunk.subarray(rest);
      parts = [];
      size = 0;
    }
    if (chunk.length > 0) parts.push(chunk);
    size += chunk.length;
  }
  if (size > 0) yield Buffer.concat(parts);
}
