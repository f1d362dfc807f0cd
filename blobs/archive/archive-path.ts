// Rules for the paths inside an archive, as pure checks over all of its entries. Nothing here reads or writes.

/** A refused archive. The message is for the person who sent it and says what to change. */
export class ArchiveRejected extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ArchiveRejected";
  }
}

/** The part of an entry that these rules need. `path` is relative, with `/`, without a trailing one. */
export interface ArchivePath {
  path: string;
  type: "file" | "directory" | "symlink";
  /** Where a symlink points. */
  target?: string;
}

/** Unpacked against packed, of a whole archive, once it unpacks to more than `ratioFrom` bytes. */
export const UNPACK_RATIO = { maxRatio: 200, ratioFrom: 64 * 2 ** 20 };

const maxPathLength = 1024;
/** NAME_MAX of every usual file system. */
const maxComponentBytes = 255;
const maxLinkDepth = 40;
/** PATH_MAX of Linux without its NUL. */
const maxTargetBytes = 4095;

/** Turns `./a//b/` into `a/b`. @throws ArchiveRejected on an absolute path, `..`, NUL, or a path or name that is too long. The root itself is "". */
export function cleanPath(path: string): string {
  if (path.length > maxPathLength)
    throw new ArchiveRejected(`the path ${quotePath(path)}… is longer than ${maxPathLength} characters`);
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    throw new ArchiveRejected(`the path ${quotePath(path)} is absolute; paths must be relative to the app's directory`);
  if (path.includes("\0")) throw new ArchiveRejected(`the path ${quotePath(path)} has a NUL character`);
  const segments = path.split("/").filter((part) => part !== "" && part !== ".");
  if (segments.includes(".."))
    throw new ArchiveRejected(`the path ${quotePath(path)} leads out of the app's directory ("..")`);
  const long = segments.find((part) => Buffer.byteLength(part) > maxComponentBytes);
  if (long !== undefined)
    throw new ArchiveRejected(
      `the name ${quotePath(long)} in a path has ${Buffer.byteLength(long)} bytes; file systems take ${maxComponentBytes} at most`,
    );
  return segments.join("/");
}

/** The target of a symlink as file systems take one. @throws ArchiveRejected */
export function checkTarget(path: string, target: string): string {
  if (Buffer.byteLength(target) > maxTargetBytes)
    throw new ArchiveRejected(`the symlink ${quotePath(path)} is too long`);
  if (target === "") throw new ArchiveRejected(`the symlink ${quotePath(path)} leads nowhere`);
  if (target.includes("\0")) throw new ArchiveRejected(`the symlink ${quotePath(path)} has a NUL in it`);
  return target;
}

/**
 * Judges all entries together: duplicate paths, a file where another entry needs a directory, an entry below a symlink, a symlink
 * that leads out of the root (also through other symlinks). @throws ArchiveRejected
 */
export function checkTree(entries: readonly ArchivePath[]): void {
  const byPath = new Map<string, ArchivePath>();
  const links = new Map<string, string>();
  for (const entry of entries) {
    const other = byPath.get(entry.path);
    if (other && !(other.type === "directory" && entry.type === "directory"))
      throw new ArchiveRejected(`the path ${quotePath(entry.path)} is there twice`);
    byPath.set(entry.path, entry);
    if (entry.type === "symlink") links.set(entry.path, entry.target ?? "");
  }
  for (const entry of entries) checkParents(entry.path, byPath);
  for (const [path, target] of links) {
    if (escapesRoot(path, links))
      throw new ArchiveRejected(
        `the symlink ${quotePath(path)} -> ${quotePath(target)} leads out of the app's directory`,
      );
  }
}

function checkParents(path: string, byPath: ReadonlyMap<string, ArchivePath>): void {
  for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
    const parent = byPath.get(path.slice(0, cut));
    if (parent && parent.type !== "directory")
      throw new ArchiveRejected(
        `the path ${quotePath(path)} is below ${quotePath(parent.path)}, which is a ${parent.type}`,
      );
  }
}

/** True when following the symlink at `path` leaves the root or never ends. Links to nothing inside the root are allowed. */
export function escapesRoot(path: string, links: ReadonlyMap<string, string>): boolean {
  let budget = maxLinkDepth;
  const walk = (from: readonly string[], target: string): string[] | undefined => {
    if (target === "" || target.startsWith("/") || (budget -= 1) < 0) return undefined;
    let at = [...from];
    for (const part of target.split("/")) {
      const next = step(at, part);
      if (!next) return undefined;
      at = next;
    }
    return at;
  };
  const step = (at: string[], part: string): string[] | undefined => {
    if (part === "" || part === ".") return at;
    if (part === "..") return at.length === 0 ? undefined : at.slice(0, -1);
    const next = [...at, part];
    const link = links.get(next.join("/"));
    return link === undefined ? next : walk(at, link);
  };
  return walk(path.split("/").slice(0, -1), links.get(path) ?? ".") === undefined;
}

function quotePath(path: string): string {
  return JSON.stringify(path.length > 120 ? `${path.slice(0, 120)}…` : path);
}
