// Hostile archives. Built byte by byte: a well-kept zip library refuses to write them.
import { crc32, deflateRawSync } from "node:zlib";

interface Entry {
  name: string;
  content: Buffer;
  /** False size of the content in the headers. */
  claimedSize?: number;
  /** Unix mode with the file type, e.g. 0o120777 for a symbolic link. */
  mode?: number;
  /** General purpose bits; 1 is "encrypted". */
  flags?: number;
  /** Compression method; 8 is deflate. */
  method?: number;
}

const FILE = 0o100644;
const SYMLINK = 0o120777;

/** A zip of these entries, as they say they are. */
export function zip(entries: readonly Entry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const packed = deflateRawSync(entry.content, { level: 9 });
    const sizes = Buffer.alloc(12);
    sizes.writeUInt32LE(crc32(entry.content), 0);
    sizes.writeUInt32LE(packed.length, 4);
    sizes.writeUInt32LE(entry.claimedSize ?? entry.content.length, 8);
    const common = Buffer.alloc(10);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.flags ?? 0, 2);
    common.writeUInt16LE(entry.method ?? 8, 4);
    const local = Buffer.concat([uint32(0x04034b50), common, sizes, uint16(name.length), uint16(0), name, packed]);
    const attributes = Buffer.concat([
      uint16(0),
      uint16(0),
      uint16(0),
      uint32(((entry.mode ?? FILE) << 16) >>> 0),
      uint32(offset),
    ]);
    directory.push(
      Buffer.concat([
        uint32(0x02014b50),
        uint16(0x031e),
        common,
        sizes,
        uint16(name.length),
        uint16(0),
        attributes,
        name,
      ]),
    );
    files.push(local);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.concat([
    uint32(0x06054b50),
    uint16(0),
    uint16(0),
    uint16(entries.length),
    uint16(entries.length),
    uint32(index.length),
    uint32(offset),
    uint16(0),
  ]);
  return Buffer.concat([...files, index, end]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value & 0xffff);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const text = Buffer.from("evil\n");

/** Each with what it does. `escape` is a path that none of them may ever write. */
export function hostileArchives(escape: string): [what: string, zip: Buffer][] {
  const bomb = Buffer.alloc(64 * 1024 * 1024);
  const up = `${"../".repeat(20)}${escape.slice(1)}`;
  return [
    ["nothing", Buffer.alloc(0)],
    ["no zip", Buffer.from("PK? not at all")],
    ["half a zip", zip([{ name: "index.js", content: Buffer.alloc(5000, "x") }]).subarray(0, 60)],
    ["a path that goes up", zip([{ name: up, content: text }])],
    ["a path that goes up inside", zip([{ name: "a/../../../b", content: text }])],
    ["a path that goes up with backslashes", zip([{ name: "..\\..\\b", content: text }])],
    ["an absolute path", zip([{ name: escape, content: text }])],
    ["a drive", zip([{ name: "C:\\b", content: text }])],
    ["a NUL in a path", zip([{ name: "a\u0000b", content: text }])],
    ["an empty path", zip([{ name: "", content: text }])],
    ["a link out", zip([{ name: "link", content: Buffer.from("/etc/passwd"), mode: SYMLINK }])],
    ["a link up", zip([{ name: "link", content: Buffer.from("../../../etc"), mode: SYMLINK }])],
    [
      "a file through a link",
      zip([
        { name: "link", content: Buffer.from(".."), mode: SYMLINK },
        { name: "link/b", content: text },
      ]),
    ],
    ["a device", zip([{ name: "tty", content: text, mode: 0o020666 }])],
    ["an encrypted file", zip([{ name: "a", content: text, flags: 1 }])],
    ["an unknown compression", zip([{ name: "a", content: text, method: 99 }])],
    ["a file larger than it says", zip([{ name: "a", content: Buffer.alloc(1_000_000), claimedSize: 10 }])],
    ["a file smaller than it says", zip([{ name: "a", content: text, claimedSize: 1_000_000 }])],
    [
      "the same file as file and folder",
      zip([
        { name: "a", content: text },
        { name: "a/b", content: text },
      ]),
    ],
    ["a bomb", zip(Array.from({ length: 40 }, (_, at) => ({ name: `zeros-${at}`, content: bomb })))],
    ["a bomb that lies", zip([{ name: "zeros", content: bomb, claimedSize: 0xffff_fff0 }])],
  ];
}
