// The file of an export: gzipped lines of JSON, a header first and a closing line last. Written and read as a stream, one line in memory at a time.
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";
import { findJsonExcess } from "../../kube/api/json-bounds.ts";
import { Failure } from "../failure.ts";

export const FORMAT = "cupola-export/1";

/** A line may hold an object of etcd's 1.5 MiB, encrypted and in base64. */
const MAX_LINE_BYTES = 4 * 2 ** 20;
const MAX_LINES = 2_000_000;
const MAX_BYTES = 64 * 2 ** 30;

/** Bounds of one line. Deeper values cannot be written to an API server. */
const LINE_BOUNDS = { depth: 64, values: 1_000_000, members: 100_000 };

const text = z.string().max(253);
/** Part of a path at the API server. */
const pathSegment = text.regex(/^(?!\.{1,2}$)[^/%]+$/, "must be a name");
const strings = z.record(z.string().max(317), z.string().max(262_144));
const owner = z.object({
  apiVersion: text,
  kind: text,
  name: pathSegment,
  uid: text,
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});
const map = z.record(z.string(), z.unknown());
/** Besides the metadata only the forms that an import reads. The API server checks all. */
const exportedObject = z.looseObject({
  apiVersion: text,
  kind: text,
  metadata: z.strictObject({
    name: pathSegment,
    namespace: pathSegment.optional(),
    uid: text,
    labels: strings,
    annotations: strings,
    ownerReferences: z.array(owner).max(100).optional(),
  }),
  spec: map.optional(),
  status: z.looseObject({ conditions: z.array(map).optional() }).optional(),
  data: z.record(z.string(), z.string()).optional(),
  roleRef: map.optional(),
  subjects: z.array(z.looseObject({ kind: text, name: text, namespace: text.optional() })).optional(),
});
const header = z.strictObject({
  format: z.literal(FORMAT),
  version: text,
  exportedAt: text,
  org: z.string().max(255).optional(),
  secrets: z.enum(["encrypted", "left out"]),
});
const plainRecord = z.strictObject({ object: exportedObject, ownNamespace: pathSegment.optional() });
const encryptedRecord = z.strictObject({ encrypted: z.string().max(MAX_LINE_BYTES) });
const closing = z.strictObject({ end: z.strictObject({ lines: z.int().min(0) }) });

export type ArchiveHeader = z.output<typeof header>;
export type ExportedObject = z.output<typeof exportedObject>;
/** `ownNamespace`: of an Org or a Space, the namespace that it has. `encrypted`: an object of its own. */
export type ArchiveRecord = z.output<typeof plainRecord> | z.output<typeof encryptedRecord>;

/** Writes a new file that only this person may read; a file that could not be completed is removed. @throws Failure */
export async function writeArchive(
  path: string,
  head: ArchiveHeader,
  records: AsyncIterable<ArchiveRecord>,
): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    throw new Failure(`${path} cannot be written: ${messageOf(cause)}`, { next: "cup export --output FILE", cause });
  });
  try {
    await pipeline(Readable.from(toLines(head, records)), createGzip(), file.createWriteStream());
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function* toLines(head: ArchiveHeader, records: AsyncIterable<ArchiveRecord>): AsyncGenerator<string> {
  let lines = 0;
  yield `${JSON.stringify(head)}\n`;
  for await (const one of records) {
    lines += 1;
    yield `${JSON.stringify(one)}\n`;
  }
  yield `${JSON.stringify({ end: { lines } })}\n`;
}

/** Opens the file; each reading begins at its start. @throws Failure for a file that is no export */
export async function readHeader(path: string): Promise<ArchiveHeader> {
  for await (const line of readLines(path)) return parseText(path, header, { text: line, where: "line 1" });
  throw notAnExport(path, "it is empty");
}

/** The records between header and closing line. @throws Failure when a line is wrong, or the closing line is missing */
export async function* readRecords(path: string): AsyncGenerator<ArchiveRecord> {
  let number = 0;
  let previous: string | undefined;
  for await (const line of readLines(path)) {
    number += 1;
    if (previous !== undefined && number > 2) yield parseRecord(path, previous, `line ${number - 1}`);
    previous = line;
  }
  if (number < 2 || previous === undefined) throw incomplete(path);
  const found = closing.safeParse(tryParse(previous));
  if (!found.success || found.data.end.lines !== number - 2) throw incomplete(path);
}

/** A decrypted Secret. @throws Failure */
export function parseExportedObject(path: string, json: string): ExportedObject {
  return parseText(path, exportedObject, { text: json, where: "a Secret" });
}

function parseRecord(path: string, line: string, where: string): ArchiveRecord {
  const isEncrypted = line.startsWith('{"encrypted":');
  return parseText<ArchiveRecord>(path, isEncrypted ? encryptedRecord : plainRecord, { text: line, where });
}

function parseText<T>(path: string, schema: z.ZodType<T>, { text, where }: { text: string; where: string }): T {
  const excess = findJsonExcess(text, LINE_BOUNDS);
  if (excess !== undefined) throw notAnExport(path, `${where} has ${excess}`);
  const found = schema.safeParse(tryParse(text));
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw notAnExport(path, `${where}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trimEnd());
}

function tryParse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function* readLines(path: string): AsyncGenerator<string> {
  const source = createReadStream(path);
  const gunzip = createGunzip();
  const broken = pipeline(source, gunzip).then(
    () => undefined,
    (error: unknown) => error,
  );
  const counted = { lines: 0, bytes: 0 };
  let rest: Buffer[] = [];
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      const { lines, tail } = splitLines(path, rest, chunk);
      rest = tail;
      counted.bytes += chunk.length;
      counted.lines += lines.length;
      if (counted.bytes > MAX_BYTES || counted.lines > MAX_LINES)
        throw notAnExport(path, `it has more than ${MAX_LINES} lines or ${MAX_BYTES} bytes`);
      yield* lines;
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw notAnExport(path, messageOf((await broken) ?? error), error);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

function splitLines(path: string, rest: Buffer[], chunk: Buffer): { lines: string[]; tail: Buffer[] } {
  const last = chunk.lastIndexOf(10);
  const held = rest.reduce((sum, { length }) => sum + length, 0) + chunk.length;
  if (held > MAX_LINE_BYTES + chunk.length || (last < 0 && held > MAX_LINE_BYTES))
    throw notAnExport(path, `a line has more than ${MAX_LINE_BYTES} bytes`);
  if (last < 0) return { lines: [], tail: [...rest, chunk] };
  const whole = Buffer.concat([...rest, chunk.subarray(0, last)]).toString("utf8");
  return { lines: whole.split("\n"), tail: [chunk.subarray(last + 1)] };
}

function notAnExport(path: string, why: string, cause?: unknown): Failure {
  return new Failure(`${path} is no export that can be read: ${why}`, {
    next: "cup export writes one; gzip -t FILE says whether the file is whole",
    cause,
  });
}

function incomplete(path: string): Failure {
  return new Failure(`${path} is not complete: its last line is missing`, {
    next: "export again, or copy the file again",
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
