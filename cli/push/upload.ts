// Sends an app's source: first asks which files the platform has already, then uploads the others, with their bytes as they go.
import { UPLOAD_DEADLINE_MS } from "../../crds/upload-deadline.ts";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { bytes } from "../output.ts";
import { cupFolder } from "../target/config.ts";
import { loadDigests, type KnownDigests } from "./known-digests.ts";
import { changedMeanwhile, packFiles, type Archive, type Source, type SourceFile } from "./pack-source.ts";

/** Smaller files are sent: to ask for one costs as much. */
const WORTH_ASKING_BYTES = 4096;
/** Least size of all such files together. A small app is sent sooner than the platform has looked for its files. */
const WORTH_ASKING_TOGETHER_BYTES = 128 * 1024;
/** Bytes: fewer and larger reads than the default 64 KiB cost less processor time. */
const READ_AT_ONCE = 256 * 1024;
/** As many as the API takes in one question. */
const ASKED_AT_ONCE = 5000;

/** A file as the API names it. */
interface KnownFile {
  path: string;
  mode: string;
  checksum: { value: string };
  size_in_bytes: number;
}

/** Parts of an upload. */
export interface Packed {
  known: readonly KnownFile[];
  /** Archive of the other files, where there are any. */
  archive: Archive | undefined;
}

/** Asks which files the platform has, and packs the others. Whoever calls it disposes of the archive. @throws when it is aborted */
export async function packSource(context: Context, source: Source, signal: AbortSignal): Promise<Packed> {
  if ("archive" in source) return { known: [], archive: source.archive };
  const known = await findKnown(context, source.files, signal);
  const paths = new Set(known.map(({ path }) => path));
  const others = source.files.filter(({ path }) => !paths.has(path));
  return { known, archive: others.length > 0 ? await packFiles(others, signal) : undefined };
}

/** Uploads into the package and says how much. `onSent` is called once all is on its way. Returns the state that the package has then. */
export async function uploadPacked(
  { api, progress }: Context,
  packageGuid: string,
  { known, archive }: Packed,
  onSent: () => void,
): Promise<unknown> {
  const size = archive ? (await stat(archive.file)).size : 0;
  const spared = known.reduce((sum, file) => sum + file.size_in_bytes, 0);
  progress.step(`Uploading ${bytes(size)}${spared > 0 ? `; the platform has ${bytes(spared)} already` : ""}`);
  const form = multipart(known, archive, { onBytes: (done) => progress.transfer(done, size), onSent });
  const path = `/v3/packages/${packageGuid}/upload`;
  return (await api.request("POST", path, { body: form, deadlineMs: UPLOAD_DEADLINE_MS }))["state"];
}

/** The files that stand in a package which the user may read. */
async function findKnown({ api }: Context, files: readonly SourceFile[], signal: AbortSignal): Promise<KnownFile[]> {
  const worth = files.filter(({ size }) => size >= WORTH_ASKING_BYTES);
  if (worth.reduce((sum, { size }) => sum + size, 0) < WORTH_ASKING_TOGETHER_BYTES) return [];
  const asked = await hashAll(worth, signal);
  const byDigest = new Map<string, KnownFile[]>();
  for (const file of asked) {
    const key = `${file.checksum.value} ${file.size_in_bytes}`;
    byDigest.set(key, [...(byDigest.get(key) ?? []), file]);
  }
  const known: KnownFile[] = [];
  const questions = [...byDigest.values()].flatMap(([first]) => (first ? [first] : []));
  for (let at = 0; at < questions.length; at += ASKED_AT_ONCE) {
    signal.throwIfAborted();
    const resources = questions
      .slice(at, at + ASKED_AT_ONCE)
      .map(({ checksum, size_in_bytes }) => ({ checksum, size_in_bytes }));
    const answer = await api.request<{ resources: KnownFile[] }>("POST", "/v3/resource_matches", {
      body: { resources },
    });
    for (const { checksum, size_in_bytes } of answer.resources)
      known.push(...(byDigest.get(`${checksum.value} ${size_in_bytes}`) ?? []));
  }
  return known;
}

async function hashAll(files: readonly SourceFile[], signal: AbortSignal): Promise<KnownFile[]> {
  const [first] = files;
  if (!first) return [];
  const digests = await loadDigests(join(cupFolder(), "digests"), first.absolute.slice(0, -first.path.length));
  const limit = pLimit(8);
  const hashed = await Promise.all(
    files.map(async (file) => {
      const known = digests.find(file);
      return toKnownFile(file, known ?? (await limit(() => hashFile(file, { digests, signal }))));
    }),
  );
  await digests.save();
  return hashed;
}

function toKnownFile({ path, mode, size }: SourceFile, sha1: string): KnownFile {
  return { path, mode: (mode & 0o777).toString(8), checksum: { value: sha1 }, size_in_bytes: size };
}

async function hashFile(
  file: SourceFile,
  { digests, signal }: { digests: KnownDigests; signal: AbortSignal },
): Promise<string> {
  signal.throwIfAborted();
  const now = Date.now();
  const hash = createHash("sha1");
  try {
    if (file.size <= READ_AT_ONCE) hash.update(await readFile(file.absolute, { signal }));
    else
      for await (const chunk of createReadStream(file.absolute, { highWaterMark: READ_AT_ONCE, signal }))
        hash.update(chunk as Buffer);
  } catch (error) {
    throw changedMeanwhile(error as Error);
  }
  const sha1 = hash.digest("hex");
  digests.add(file, sha1, now);
  return sha1;
}

/** A form with the known files and the archive of the others; `onBytes` is told how many bytes of the archive have gone. */
function multipart(
  known: readonly KnownFile[],
  archive: { file: string } | undefined,
  { onBytes, onSent }: { onBytes: (bytes: number) => void; onSent: () => void },
): { stream: AsyncIterable<Uint8Array>; contentType: string } {
  const boundary = `cup-${crypto.randomUUID()}`;
  const part = (disposition: string): Buffer =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`);
  async function* send(): AsyncGenerator<Uint8Array> {
    if (known.length > 0) yield Buffer.concat([part('name="resources"'), Buffer.from(`${JSON.stringify(known)}\r\n`)]);
    if (archive) {
      yield part('name="bits"; filename="source.zip"\r\nContent-Type: application/zip');
      let sent = 0;
      for await (const chunk of createReadStream(archive.file)) {
        yield chunk as Buffer;
        onBytes((sent += (chunk as Buffer).length));
      }
      yield Buffer.from("\r\n");
    }
    yield Buffer.from(`--${boundary}--\r\n`);
    onSent();
  }
  return { stream: send(), contentType: `multipart/form-data; boundary=${boundary}` };
}

/** How a package names its app. */
export function toApp(app: Resource): { app: { data: { guid: string } } } {
  return { app: { data: { guid: app.guid } } };
}
