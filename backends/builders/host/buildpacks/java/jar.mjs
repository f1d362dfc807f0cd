// The manifest of a jar, packed or unpacked, and the command that starts it.
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { quote } from "../shared/files.mjs";

const manifestPath = "META-INF/MANIFEST.MF";

/** The main attributes of a manifest; its lines are wrapped at 72 bytes. */
export function parseManifest(text) {
  const rows = text
    .replace(/\r?\n /g, "")
    .split(/\r?\n\r?\n/)[0]
    .split(/\r?\n/);
  return Object.fromEntries(
    rows
      .filter((row) => row.includes(": "))
      .map((row) => [row.slice(0, row.indexOf(":")), row.slice(row.indexOf(":") + 2).trim()]),
  );
}

/** The command for an unpacked jar, which cf makes of a pushed one; undefined when it has no main class. */
export function commandOfFolder(app) {
  if (!existsSync(join(app, manifestPath))) return undefined;
  const { "Main-Class": main, "Class-Path": classPath = "" } = parseManifest(
    readFileSync(join(app, manifestPath), "utf8"),
  );
  if (!main) return undefined;
  return `exec java -cp ${quote([".", ...classPath.split(" ").filter(Boolean)].join(":"))} ${quote(main)}`;
}

/** Whether `java -jar` starts it. */
export function isExecutableJar(path) {
  const manifest = readEntry(path, manifestPath);
  return manifest !== undefined && parseManifest(manifest)["Main-Class"] !== undefined;
}

/** The text of an entry of a zip; undefined without one. Reads the directory at the zip's end. */
function readEntry(path, name) {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const read = (at, length) => {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, at);
      return bytes;
    };
    const tail = read(Math.max(0, size - 65_557), Math.min(size, 65_557));
    const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
    if (end < 0) return undefined;
    const directory = read(tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12));
    const header = findHeader(directory, name);
    if (!header) return undefined;
    const local = read(header.offset, 30);
    const data = read(header.offset + 30 + local.readUInt16LE(26) + local.readUInt16LE(28), header.size);
    return (header.method === 0 ? data : inflateRawSync(data)).toString("utf8");
  } finally {
    closeSync(file);
  }
}

function findHeader(directory, name) {
  for (let at = 0; at + 46 <= directory.length && directory.readUInt32LE(at) === 0x02014b50;) {
    const [nameLength, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
    if (directory.toString("utf8", at + 46, at + 46 + nameLength) === name)
      return {
        method: directory.readUInt16LE(at + 10),
        size: directory.readUInt32LE(at + 20),
        offset: directory.readUInt32LE(at + 42),
      };
    at += 46 + nameLength + extra + comment;
  }
  return undefined;
}
