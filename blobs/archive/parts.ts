// Divides what goes into an archive into parts, each a gzip member of its own: a part that an archive of before has need not be read, compressed or checked again.
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { pack } from "tar-stream";
import { gzipAdaptively } from "./adaptive-gzip.ts";
import { addMember, type TarMember } from "./tar.ts";

/** Where an archive has a part: bytes from its begin, their number, and their CRC-32. */
export interface Part {
  at: number;
  length: number;
  sum: number;
}

/** The parts of an archive, by what was packed into them. */
export type Parts = Readonly<Record<string, Part>>;

/** Identity of a file's content: it differs between contents. Undefined where it is not known. */
export type Identify<Member> = (member: Member) => string | undefined;

/** A larger file is a part of its own. */
const LARGE_BYTES = 2 ** 20;
/** Average number of paths in a part. The paths decide where a part ends, so that a new file changes a single part. */
const MEMBERS_OF_PART = 64;
const MOST_MEMBERS = 8 * MEMBERS_OF_PART;
/** End of a tar archive. */
const END = Buffer.alloc(1024);

/** Divides members by their paths and sizes alone, in their order. */
export async function* toParts<Member extends TarMember>(
  found: AsyncIterable<Member> | Iterable<Member>,
): AsyncGenerator<Member[]> {
  let members: Member[] = [];
  for await (const member of found) {
    const isLarge = member.size > LARGE_BYTES;
    if (isLarge && members.length > 0) {
      yield members;
      members = [];
    }
    members.push(member);
    if (!isLarge && crc32(member.path) % MEMBERS_OF_PART !== 0 && members.length < MOST_MEMBERS) continue;
    yield members;
    members = [];
  }
  if (members.length > 0) yield members;
}

/** The key of a part. Undefined when a file of it cannot be told from another in its place. */
export function keyOf<Member extends TarMember>(
  members: readonly Member[],
  identify: Identify<Member>,
): string | undefined {
  const hash = createHash("sha256");
  for (const member of members) {
    const { path, type, mode, size, target } = member;
    const identity = type === "file" && size > 0 ? identify(member) : "";
    if (identity === undefined) return undefined;
    hash.update(JSON.stringify([path, type, mode, size, target, identity]));
  }
  return hash.digest("hex");
}

/** A part, packed. An error of a member is one of the result. */
export function packPart(members: readonly TarMember[]): AsyncIterable<Buffer> {
  return gzipAdaptively(tarOf(members));
}

/** Bytes after the last part. */
export function packEnd(): AsyncIterable<Buffer> {
  return gzipAdaptively(only(END));
}

/** A tar archive without its end. */
function tarOf(members: readonly TarMember[]): AsyncIterable<Buffer> {
  const tar = pack();
  const fill = async (): Promise<void> => {
    for (const member of members) await addMember(tar, member);
    tar.push(null);
  };
  fill().catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))));
  return tar as AsyncIterable<Buffer>;
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes);
}
