// Packs an app's folder for upload, without what .cfignore names and what never belongs in a package.
import { createWriteStream } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import ignore, { type Ignore } from "ignore";
import { ZipFile } from "yazl";
import { Failure } from "../failure.ts";

const ALWAYS_IGNORED = [
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

export interface Archive {
  /** A zip file. */
  file: string;
  /** Removes what packing made. */
  dispose(): Promise<void>;
}

/** A folder is packed; a file is taken as an archive already. @throws Failure (usage) when there is nothing to push. */
export async function packSource(source: string): Promise<Archive> {
  const info = await stat(source).catch((cause: unknown) => {
    throw new Failure(`${source} does not exist`, { kind: "usage", next: "--path FOLDER", cause });
  });
  if (info.isFile()) return { file: source, dispose: () => Promise.resolve() };
  const files = await listFiles(source, await readIgnore(source));
  if (files.length === 0)
    throw new Failure(`${source} holds nothing to push`, { kind: "usage", next: "--path FOLDER" });
  const folder = await mkdtemp(join(tmpdir(), "cup-push-"));
  const file = join(folder, "source.zip");
  const zip = new ZipFile();
  for (const path of files) {
    const { mode, mtime } = await stat(join(source, path));
    zip.addFile(join(source, path), path.split(sep).join("/"), { mode, mtime });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
  return { file, dispose: () => rm(folder, { recursive: true, force: true }) };
}

async function readIgnore(source: string): Promise<Ignore> {
  const text = await readFile(join(source, ".cfignore"), "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  });
  return ignore().add(ALWAYS_IGNORED).add(text);
}

async function listFiles(root: string, ignored: Ignore, folder = root): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = relative(root, join(folder, entry.name));
    if (ignored.ignores(entry.isDirectory() ? `${path}/` : path)) continue;
    if (entry.isDirectory()) found.push(...(await listFiles(root, ignored, join(folder, entry.name))));
    else found.push(path);
  }
  return found;
}
