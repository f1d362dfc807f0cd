// Files of an app's folder that are pushed, without what .cfignore names and what never belongs in a package; and the zip of it.
import { createWriteStream, rmSync, type Stats } from "node:fs";
import { lstat, mkdtemp, open, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import ignore, { type Ignore } from "ignore";
import { ZipFile } from "yazl";
import { isWorthCompressing } from "../../blobs/archive/adaptive-gzip.ts";
import { Failure } from "../failure.ts";

/** Patterns as of .cfignore. */
export const ALWAYS_IGNORED: readonly string[] = [
  ".cfignore",
  "/manifest.yml",
  "/manifest.yaml",
  ".gitignore",
  ".git",
  ".hg",
  ".svn",
  "_darcs",
  ".DS_Store",
];

/** Evidence that a file is unchanged. */
export interface FileVersion {
  /** Size, times and inode. */
  stamp: string;
  /** When it changed last, in milliseconds since 1970. */
  changedAt: number;
}

export interface SourceFile {
  /** Below the folder, with `/`. */
  path: string;
  absolute: string;
  mode: number;
  mtime: Date;
  /** Bytes. */
  size: number;
  /** A file's version. */
  version?: FileVersion;
  /** Target of a symbolic link to a folder, or to a file that is sent, too. A link to another file is sent as that file. */
  target?: string;
}

/** A folder's files, or an archive that the user made. */
export type Source = { files: SourceFile[] } | { archive: Archive };

export interface Archive {
  /** A zip file. */
  file: string;
  /** Removes what packing made. */
  dispose(): Promise<void>;
}

/** A folder is listed; a file is taken as an archive already. @throws Failure (usage) when there is nothing to push. */
export async function readSource(source: string): Promise<Source> {
  const info = await stat(source).catch((cause: unknown) => {
    throw new Failure(`${source} does not exist`, { kind: "usage", next: "cup push --path FOLDER", cause });
  });
  if (info.isFile()) return { archive: { file: source, dispose: () => Promise.resolve() } };
  const files = await listFiles(source, await readIgnore(source));
  if (files.length === 0)
    throw new Failure(`${source} holds nothing to push`, { kind: "usage", next: "cup push --path FOLDER" });
  return { files };
}

/** A zip of the files, in a new folder of the system's temporary one. @throws when it is aborted; nothing is left of it then */
export async function packFiles(files: readonly SourceFile[], signal?: AbortSignal): Promise<Archive> {
  signal?.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "cup-push-"));
  const file = join(folder, "source.zip");
  // Ctrl-C ends the process at once.
  const atExit = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", atExit);
  const dispose = async (): Promise<void> => {
    process.off("exit", atExit);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await writeZip(files, file, signal);
    return { file, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** @throws Failure when a file went away or changed meanwhile */
async function writeZip(files: readonly SourceFile[], file: string, signal?: AbortSignal): Promise<void> {
  const zip = new ZipFile();
  const abort = new AbortController();
  let cause: Error | undefined;
  // yazl tells it there, and ends no stream.
  zip.on("error", (error: Error) => {
    cause = error;
    abort.abort();
  });
  try {
    for (const { absolute, path, mode, mtime, size, target } of files) {
      signal?.throwIfAborted();
      if (target !== undefined) zip.addBuffer(Buffer.from(target), path, { mode, mtime });
      else zip.addFile(absolute, path, { mode, mtime, compress: await isWorth(absolute, size) });
    }
    zip.end();
    const either = AbortSignal.any(signal ? [abort.signal, signal] : [abort.signal]);
    await pipeline(zip.outputStream, createWriteStream(file), { signal: either });
  } catch (error) {
    throw cause ? changedMeanwhile(cause) : error;
  }
}

/** A smaller one costs nothing either way. */
const LARGE_BYTES = 256 * 1024;

/** Whether a file gets smaller, judged by its middle: pictures and archives do not. @throws Failure when it went away meanwhile */
async function isWorth(file: string, size: number): Promise<boolean> {
  if (size < LARGE_BYTES) return true;
  const sample = Buffer.alloc(SAMPLE_BYTES);
  const opened = await open(file).catch((error: unknown) => {
    throw changedMeanwhile(error as Error);
  });
  try {
    const { bytesRead } = await opened.read(sample, 0, SAMPLE_BYTES, size >> 1);
    return isWorthCompressing(sample.subarray(0, bytesRead));
  } finally {
    await opened.close();
  }
}

const SAMPLE_BYTES = 4096;

/** @param cause of reading a file that was listed a moment ago */
export function changedMeanwhile(cause: Error): Failure {
  return new Failure(`the app's files changed while they were read: ${cause.message}`, {
    next: "the same again, once nothing writes there; .cfignore leaves out what changes all the time, such as logs",
    cause,
  });
}

/** The rules of .cfignore, and those that hold everywhere. */
export async function readIgnore(source: string): Promise<Ignore> {
  const text = await readFile(join(source, ".cfignore"), "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  });
  return ignore().add(ALWAYS_IGNORED).add(text);
}

async function listFiles(root: string, ignored: Ignore, folder = root): Promise<SourceFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (folder !== root && isGone(error)) return [];
    throw error;
  });
  const found: SourceFile[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const absolute = join(folder, entry.name);
    const path = relative(root, absolute).split(sep).join("/");
    if (ignored.ignores(entry.isDirectory() ? `${path}/` : path)) continue;
    if (entry.isDirectory()) found.push(...(await listFiles(root, ignored, absolute)));
    else if (entry.isSymbolicLink() && (await isSent(root, ignored, absolute)))
      found.push(...(await toLink(path, absolute)));
    else found.push(...(await toSourceFile(path, absolute)));
  }
  return found;
}

/** Whether a link leads to a file of the folder that is sent itself, as programs in node_modules/.bin do: those look for others beside their own file. */
async function isSent(root: string, ignored: Ignore, link: string): Promise<boolean> {
  const target = await readlink(link).catch(() => "");
  const path = relative(root, resolve(dirname(link), target))
    .split(sep)
    .join("/");
  if (target === "" || isAbsolute(target) || path === "" || path.startsWith("../") || path === "..") return false;
  if (ignored.ignores(path)) return false;
  const info = await stat(link).catch(() => undefined);
  return info?.isFile() === true;
}

const LINK_MODE = 0o120777;

/** Nothing for a link that went away since its folder was listed. */
async function toLink(path: string, absolute: string): Promise<[] | [SourceFile]> {
  try {
    const { mtime } = await lstat(absolute);
    return [{ path, absolute, mode: LINK_MODE, mtime, size: 0, target: await readlink(absolute) }];
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** Programs that set the time of the content back, such as `cp -p`, cannot set that of the inode. */
function toVersion({ size, mtimeMs, ctimeMs, ino }: Stats): FileVersion {
  return { stamp: `${size} ${mtimeMs} ${ctimeMs} ${ino}`, changedAt: Math.max(mtimeMs, ctimeMs) };
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** Nothing for a file that went away since its folder was listed. */
async function toSourceFile(path: string, absolute: string): Promise<[] | [SourceFile]> {
  const info = await stat(absolute).catch(async (cause: unknown) => {
    if (isGone(cause) && (await lstat(absolute).catch(isGone)) === true) return undefined;
    throw new Failure(`${absolute} cannot be read, perhaps a symbolic link that leads nowhere`, {
      kind: "usage",
      next: "remove it, or name it in .cfignore",
      cause,
    });
  });
  if (!info) return [];
  const { mode, mtime, size } = info;
  if (info.isFile()) return [{ path, absolute, mode, mtime, size, version: toVersion(info) }];
  // The folder of another name in a virtual environment of Python, for example.
  if (info.isDirectory()) return toLink(path, absolute);
  throw new Failure(`${absolute} is neither a file nor a folder`, {
    kind: "usage",
    next: "remove it, or name it in .cfignore",
  });
}
