// Files that are no export, and those that cost more than a line of memory.
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { FORMAT, readHeader, readRecords, writeArchive, type ArchiveHeader, type ArchiveRecord } from "./archive.ts";

const folder = mkdtempSync(join(tmpdir(), "cupola-archive-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const header: ArchiveHeader = { format: FORMAT, version: "1", exportedAt: "now", secrets: "left out" };
const record: ArchiveRecord = {
  object: { apiVersion: "v1", kind: "App", metadata: { name: "a", uid: "u", labels: {}, annotations: {} }, spec: {} },
};
/** As somebody writes it by hand. */
function objectWith(kind: string, rest: object, metadata: object = {}): object {
  const object = {
    apiVersion: "v1",
    kind,
    metadata: { name: "a", uid: "u", labels: {}, annotations: {}, ...metadata },
  };
  return { object: { ...object, ...rest } };
}
const OWNER = { apiVersion: "v1", kind: "App", name: "a", uid: "u" };
const END = '{"end":{"lines":1}}';

function fileOf(content: string | Buffer): string {
  const path = join(folder, createHash("sha256").update(content).digest("hex").slice(0, 12));
  writeFileSync(path, typeof content === "string" ? gzipSync(content) : content);
  return path;
}

async function readAll(path: string): Promise<ArchiveRecord[]> {
  await readHeader(path);
  return Array.fromAsync(readRecords(path));
}

const lines = (...all: (object | string)[]): string =>
  all.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join("");

test("what was written is read, by this person alone", async () => {
  const path = join(folder, "written");
  await writeArchive(
    path,
    header,
    (async function* () {
      yield record;
    })(),
  );
  expect(await readAll(path)).toEqual([record]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a file that fails on the way is removed", async () => {
  const path = join(folder, "failed");
  const failing = (async function* (): AsyncGenerator<ArchiveRecord> {
    yield record;
    throw new Error("no answer");
  })();
  await expect(writeArchive(path, header, failing)).rejects.toThrow("no answer");
  expect(() => statSync(path)).toThrow();
});

test.each<[string, string | Buffer, RegExp]>([
  ["no gzip", Buffer.from("hello"), /no export/],
  ["empty", "", /empty/],
  [
    "cut off",
    gzipSync(lines(header, record, randomBytes(9_000).toString("hex"))).subarray(0, 5_000),
    /no export|complete/,
  ],
  ["another format", lines({ ...header, format: "x" }, record, END), /line 1: format/],
  ["without its last line", lines(header, record), /not complete/],
  ["with a line too few", lines(header, END), /not complete/],
  ["a line of no JSON", lines(header, "{", END), /line 2/],
  ["a line of another form", lines(header, { object: { kind: 1 } }, END), /line 2/],
  [
    "a subject that is none",
    lines(header, objectWith("RoleBinding", { subjects: [null] }), END),
    /object\.subjects\.0/,
  ],
  ["a spec that is no map", lines(header, objectWith("App", { spec: [] }), END), /line 2: object\.spec/],
  ["a condition that is none", lines(header, objectWith("App", { status: { conditions: [1] } }), END), /conditions\.0/],
  [
    "data of a Secret that is no text",
    lines(header, objectWith("Secret", { data: { a: {} } }), END),
    /object\.data\.a/,
  ],
  ["a name that is a path", lines(header, objectWith("Org", {}, { name: ".." }), END), /metadata\.name must be a name/],
  [
    "an owner that is a path",
    lines(header, objectWith("App", {}, { ownerReferences: [{ ...OWNER, name: "a/../b" }] }), END),
    /ownerReferences\.0\.name must be a name/,
  ],
  [
    "levels without end",
    lines(header, `{"object":{"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`, END),
    /line 2 has more than 64 levels/,
  ],
  ["an encrypted line that is none", lines(header, { encrypted: null }, END), /line 2: encrypted/],
  ["a line of 40 MB in 40 KB", lines(header, `"${"a".repeat(40_000_000)}"`, END), /a line has more than/],
])("%s", async (_what, content, message) => {
  await expect(readAll(fileOf(content))).rejects.toThrow(message);
});
