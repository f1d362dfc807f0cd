// A package as a tar.gz in parts: those that the package of before has, by the SHA-1 of all their files, are taken from it as they are, without being unpacked.
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { keyOf, packEnd, packPart, toParts, type Part, type Parts } from "../archive/parts.ts";
import type { PackageMember } from "./matched-files.ts";

/** A part to pack, and where the package of before has it. */
export interface PlannedPart {
  members: PackageMember[];
  before?: Part;
}

/** The bytes of the package of before are not those that were written. */
export class PackageDamaged extends Error {}

/** Divides sorted members. Parts are taken from before only in the order in which that has them, since it is read once. */
export async function planParts(members: readonly PackageMember[], before: Parts): Promise<PlannedPart[]> {
  const planned: PlannedPart[] = [];
  let read = 0;
  for await (const each of toParts(members)) {
    const key = keyOf(each, ({ sha1 }) => sha1);
    const part = key === undefined ? undefined : before[key];
    const isNext = part !== undefined && part.at >= read;
    if (isNext) read = part.at + part.length;
    planned.push({ members: each, ...(isNext && { before: part }) });
  }
  return planned;
}

/**
 * Packs the parts. `open` opens the package of before, `sha1Of` is asked for a file once it is read, and `parts` of the result is filled as it is read.
 * The content fails with PackageDamaged.
 */
export function packParts(
  planned: readonly PlannedPart[],
  { open, sha1Of }: { open: () => Promise<Readable>; sha1Of: (member: PackageMember) => string | undefined },
): { content: Readable; parts: Parts } {
  const parts: Record<string, Part> = {};
  async function* chunks(): AsyncGenerator<Buffer> {
    const source = openForward(open);
    let at = 0;
    try {
      for (const { members, before } of planned) {
        let length = 0;
        let sum = 0;
        for await (const chunk of before ? source.read(before) : packPart(members)) {
          length += chunk.length;
          sum = crc32(chunk, sum);
          yield chunk;
        }
        if (before && sum !== before.sum) throw new PackageDamaged("a package of before is damaged");
        const key = keyOf(members, sha1Of);
        if (key !== undefined) parts[key] = { at, length, sum };
        at += length;
      }
      yield* packEnd();
    } finally {
      source.close();
    }
  }
  return { content: Readable.from(chunks(), { objectMode: false }), parts };
}

interface ForwardSource {
  read(part: Part): AsyncGenerator<Buffer>;
  close(): void;
}

/** Reads parts of a stream in its order; it is opened for the first. */
function openForward(open: () => Promise<Readable>): ForwardSource {
  let stream: Readable | undefined;
  let chunks: AsyncIterator<Buffer> | undefined;
  let rest: Buffer = Buffer.alloc(0);
  let position = 0;
  async function take(most: number): Promise<Buffer> {
    if (rest.length === 0) {
      stream ??= await open();
      chunks ??= stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      const next = await chunks.next();
      if (next.done) throw new PackageDamaged("a package of before is too short");
      rest = next.value;
    }
    const taken = rest.subarray(0, most);
    rest = rest.subarray(taken.length);
    position += taken.length;
    return taken;
  }
  return {
    async *read({ at, length }) {
      while (position < at) await take(at - position);
      for (let left = length; left > 0;) {
        const taken = await take(left);
        left -= taken.length;
        yield taken;
      }
    },
    close: () => stream?.destroy(),
  };
}
