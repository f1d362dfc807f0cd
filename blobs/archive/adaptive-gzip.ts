// gzip that stores what does not get smaller, such as pictures and archives: compressing it would cost most of a large push. Equal bytes give equal output.
import { PassThrough, pipeline, type Readable } from "node:stream";
import { promisify } from "node:util";
import { constants, crc32, deflateRaw, deflateRawSync } from "node:zlib";

/** Each block of the input is compressed or stored by itself, wherever its chunks end. */
const BLOCK_BYTES = 256 * 1024;
/** So much from the middle of a block stands for it. */
const SAMPLE_BYTES = 4096;
/** Several times as fast as the default; blobs are read nearby. */
const FAST_LEVEL = 1;
/** A sample that keeps so much of its size is stored. */
const WORTH_RATIO = 0.95;
/** Blocks under compression at once, by as many threads. */
const AT_ONCE = 4;

/** The header of RFC 1952: deflate, without a name and a time, by the fastest algorithm, on Unix. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]);
/** An empty last block of deflate. */
const LAST_BLOCK = Buffer.from([3, 0]);
/** Most bytes of a stored block of deflate. */
const STORED_BYTES = 65_535;
const STORED_HEADER_BYTES = 5;
/** A sample needs no larger window; to set up a usual one takes longer than the sample. */
const SAMPLE_DEFLATE = { level: FAST_LEVEL, windowBits: 12, memLevel: 5 };

/** A part of the input, as its chunks came. */
interface Block {
  parts: Buffer[];
  size: number;
}

const compress = promisify(deflateRaw) as (bytes: Buffer, options: object) => Promise<Buffer>;

/** Compresses a stream, which is destroyed with the result. An error of the source is one of the result. */
export function gzipAdaptively(source: AsyncIterable<Buffer>): Readable {
  const result = new PassThrough({ highWaterMark: 2 * BLOCK_BYTES });
  // The error reaches whoever reads the result.
  pipeline(source, toGzip, result, () => undefined);
  return result;
}

/** A member of gzip. zlib's own stream costs ten times as much for what is stored, since a change of its level keeps it searching for matches. */
async function* toGzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sum = 0;
  let size = 0;
  const pending: Promise<Buffer>[] = [];
  yield HEADER;
  try {
    for await (const block of toBlocks(chunks)) {
      for (const part of block.parts) sum = crc32(part, sum);
      size += block.size;
      const deflated = deflateBlock(block);
      // Awaited in its turn, or at the end.
      deflated.catch(() => undefined);
      pending.push(deflated);
      const first = pending.length === AT_ONCE ? pending.shift() : undefined;
      if (first) yield await first;
    }
    for (const deflated of pending.splice(0)) yield await deflated;
  } finally {
    await Promise.allSettled(pending);
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(sum, 0);
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  yield Buffer.concat([LAST_BLOCK, trailer]);
}

/** The block as deflate that ends at a whole byte, so that another can follow. */
async function deflateBlock(block: Block): Promise<Buffer> {
  if (!compresses(sampleOf(block))) return store(block);
  return compress(Buffer.concat(block.parts), {
    level: FAST_LEVEL,
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: BLOCK_BYTES,
  });
}

/** Copies the parts once: a large push is all copies. */
function store({ parts, size }: Block): Buffer {
  const stored = Buffer.allocUnsafeSlow(size + STORED_HEADER_BYTES * Math.ceil(size / STORED_BYTES));
  let at = 0;
  let room = 0;
  let left = size;
  for (const part of parts)
    for (let from = 0; from < part.length;) {
      if (room === 0) {
        room = Math.min(STORED_BYTES, left);
        at = writeStoredHeader(stored, at, room);
      }
      const copied = part.copy(stored, at, from, from + room);
      at += copied;
      from += copied;
      room -= copied;
      left -= copied;
    }
  return stored;
}

function writeStoredHeader(target: Buffer, at: number, length: number): number {
  target.writeUInt8(0, at);
  target.writeUInt16LE(length, at + 1);
  return target.writeUInt16LE(length ^ 0xffff, at + 3);
}

/** Judges by a sample from the middle: the start of a file is often a header. */
export function isWorthCompressing(bytes: Buffer): boolean {
  return compresses(sampleOf({ parts: [bytes], size: bytes.length }));
}

function compresses(sample: Buffer): boolean {
  return deflateRawSync(sample, SAMPLE_DEFLATE).length < sample.length * WORTH_RATIO;
}

function sampleOf({ parts, size }: Block): Buffer {
  const begin = Math.max(0, (size - SAMPLE_BYTES) >> 1);
  const end = begin + SAMPLE_BYTES;
  const found: Buffer[] = [];
  let at = 0;
  for (const part of parts) {
    if (at < end && at + part.length > begin) found.push(part.subarray(Math.max(0, begin - at), end - at));
    at += part.length;
  }
  return found.length === 1 && found[0] ? found[0] : Buffer.concat(found);
}

async function* toBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Block> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (let chunk of chunks) {
    while (size + chunk.length >= BLOCK_BYTES) {
      const rest = BLOCK_BYTES - size;
      yield { parts: [...parts, chunk.subarray(0, rest)], size: BLOCK_BYTES };
      chunk = chunk.subarray(rest);
      parts = [];
      size = 0;
    }
    if (chunk.length > 0) parts.push(chunk);
    size += chunk.length;
  }
  if (size > 0) yield { parts, size };
}
