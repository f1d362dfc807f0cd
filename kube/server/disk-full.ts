// A rule for "the disk is full", whoever reports it: the file system or SQLite.

const FULL_CODES: readonly unknown[] = ["ENOSPC", "EDQUOT"];
const SQLITE_FULL = 13;
const MAX_CAUSES = 10;

/** Whether the error or one of its causes means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  for (let [each, left] = [error, MAX_CAUSES]; each instanceof Error && left > 0; each = each.cause, left--) {
    const { code, errcode } = each as { code?: unknown; errcode?: unknown };
    if (FULL_CODES.includes(code) || (code === "ERR_SQLITE_ERROR" && errcode === SQLITE_FULL)) return true;
  }
  return false;
}
