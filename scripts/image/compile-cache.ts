// What Node makes of the sources that every build waits for, kept in the image: a build's first container would spend half its time on that.
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { COMPILE_CACHE_FOLDER } from "../../backends/builders/cnb/plan-pod.ts";
import { runCommand } from "../run-command.ts";
import { listFolder, type ImageEntry } from "./image-entries.ts";

const PROGRAM_FOLDER = "/cupola";
const DEADLINE_MS = 60_000;

/** The cache's entries. It holds for this Node, on CPUs with the features of this machine's; elsewhere Node passes it over. @param program all entries below `/cupola`. @throws Error with Node's output */
export async function listCompileCache(program: readonly ImageEntry[], node: string): Promise<ImageEntry[]> {
  const root = mkdtempSync(join(tmpdir(), "cupola-compile-"));
  try {
    const folders = new Set(program.map(({ type, path }) => (type === "directory" ? path : dirname(path))));
    for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
    for (const entry of program) place(root, entry);
    const cache = join(root, COMPILE_CACHE_FOLDER);
    const command: [string, ...string[]] = [node, "platform/cupola.ts", "fetch-package", "--help"];
    const { code, output } = await runCommand(command, {
      cwd: join(root, PROGRAM_FOLDER),
      deadlineMs: DEADLINE_MS,
      // Flags of V8 are part of the cache's key, and a build's Pod has none.
      env: { NODE_COMPILE_CACHE: cache, NODE_COMPILE_CACHE_PORTABLE: "1", NODE_OPTIONS: "" },
    });
    if (code !== 0 || !existsSync(cache)) throw new Error(`Node compiled no fetch-package for the image:\n${output}`);
    return listFolder(cache, COMPILE_CACHE_FOLDER).map(withContent);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function place(root: string, entry: ImageEntry): void {
  const path = join(root, entry.path);
  if (entry.type === "symlink") symlinkSync(entry.target, path);
  else if (entry.type === "file" && "source" in entry) linkOrCopy(entry.source, path);
  else if (entry.type === "file") writeFileSync(path, entry.content);
}

/** Thousands of files: a link costs a tenth. */
function linkOrCopy(source: string, path: string): void {
  try {
    linkSync(source, path);
  } catch {
    copyFileSync(source, path); // another file system, say
  }
}

/** Read now: the temporary folder is removed before the image is written. */
function withContent(entry: ImageEntry): ImageEntry {
  if (entry.type !== "file" || !("source" in entry)) return entry;
  const { path, source } = entry;
  return { type: "file", path, mode: 0o644, content: readFileSync(source) };
}
