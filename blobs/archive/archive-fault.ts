// Which errors say that an archive is broken, and not that this machine is: those of zlib, of the libraries that read tar and zip, and of a disk that cannot have such entries.

/** Messages of tar-stream, yauzl and yazl, whose errors have no codes. */
const MESSAGES =
  /^(?:Invalid (?:tar )?header|Unexpected end of data|unexpected (?:end|EOF)|Header exceeds max size|invalid |(?:too many|not enough) bytes in the stream|extra field|file data stream has unexpected|Size mismatch|Invalid)/;
/** Two entries with one path, one below a file, a name that the file system does not take. */
const DISK_CODES = new Set(["EEXIST", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "EILSEQ", "ELOOP"]);

export function isArchiveFault(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return MESSAGES.test(error.message);
  // zlib's: Z_DATA_ERROR, Z_BUF_ERROR, Z_NEED_DICT.
  return code.startsWith("Z_") || isConflict(error);
}

/** The disk refuses entries that cannot be together, or cannot be at all. */
export function isConflict(error: unknown): boolean {
  return DISK_CODES.has((error as NodeJS.ErrnoException).code ?? "");
}
