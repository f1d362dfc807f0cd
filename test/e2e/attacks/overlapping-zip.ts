// A zip whose directory names one stored entry many times: small to send, large to unpack.
import { crc32 } from "node:zlib";

/** `count` directory records that all point at one stored entry of `size` bytes. */
export function overlappingZip(count: number, size: number): Buffer {
  const content = Buffer.alloc(size, "x");
  const record = (signature: number, lead: number[], name: string, tail: Buffer): Buffer => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(signature);
    const fields = Buffer.alloc(26 + lead.length * 2);
    lead.forEach((value, at) => fields.writeUInt16LE(value, at * 2));
    const base = lead.length * 2;
    fields.writeUInt16LE(20, base);
    fields.writeUInt32LE(crc32(content), base + 10);
    fields.writeUInt32LE(size, base + 14);
    fields.writeUInt32LE(size, base + 18);
    fields.writeUInt16LE(name.length, base + 22);
    return Buffer.concat([head, fields, tail, Buffer.from(name)]);
  };
  const local = Buffer.concat([record(0x04034b50, [], "entry", Buffer.alloc(0)), content]);
  // Comment, disk, attributes, and the offset of the entry, which is 0 for all.
  const directory = Buffer.concat(
    Array.from({ length: count }, (_, at) => record(0x02014b50, [0x031e], `entry-${at}`, Buffer.alloc(14))),
  );
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, directory, end]);
}
