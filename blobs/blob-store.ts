// The contract of a content store. directory/ implements it on a disk; nothing here does I/O.
import { Transform, type Readable } from "node:stream";
import type { ScratchFolder } from "./scratch/scratch-space.ts";

/** The use of a blob. It decides its path and its clean-up, never who may read it. */
export type BlobKind = "package" | "droplet" | "cache";

export const blobKinds: readonly BlobKind[] = ["package", "droplet", "cache"];

/** The name of a content: `sha256:` and 64 hex digits. It is a key only together with its space. */
export type Digest = string;

/** The result of `put` and the value of `Package.spec.content`. `size` is in bytes, as stored. */
export interface Blob {
  digest: Digest;
  size: number;
}

/** A row of `list`. `modified` is when the content was last put, in ms since the epoch. */
export interface StoredBlob extends Blob {
  space: string;
  kind: BlobKind;
  modified: number;
}

export interface PutOptions {
  maxBytes: number;
  /** As `writeNote`, without a moment in which the content has no note. Asked when the content has been read. */
  note?: () => string;
  /** The folder of the upload that the content is made from: the store's temporary bytes count as its. */
  scratch?: ScratchFolder;
}

/** Content by (space GUID, digest). Every method throws `InvalidBlobName` on a malformed space or digest. */
export interface BlobStore {
  /**
   * Streams the content in; it is durable and complete, or absent. The same content twice is kept once, also across spaces, and counts as new again.
   * @throws BlobTooLarge after `maxBytes`
   */
  put(space: string, kind: BlobKind, content: Readable, options: PutOptions): Promise<Blob>;
  /** As `put`, of a whole file of this machine that nobody writes any more. The store may take it instead of a copy. */
  putFile(space: string, kind: BlobKind, file: string, options: { maxBytes: number }): Promise<Blob>;
  /** @throws BlobNotFound */
  open(space: string, digest: Digest): Promise<Readable>;
  /** Size in bytes, or undefined when the space has no such content. */
  find(space: string, digest: Digest): Promise<Blob | undefined>;
  has(space: string, digest: Digest): Promise<boolean>;
  /**
   * Gives another space the content with its note, as this kind, without sending it again; there it counts as put now.
   * @throws BlobNotFound
   */
  copy(from: { space: string; digest: Digest }, space: string, kind: BlobKind): Promise<void>;
  /**
   * Removes content and note; removing what is absent is no error. With `lastPutBefore` (ms since the epoch) a content that was put or touched then or
   * later stays: another replica may need it again by now.
   */
  remove(space: string, digest: Digest, options?: { lastPutBefore?: number }): Promise<void>;
  /** Counts as put now, so that clean-up's grace begins again; nothing where it is absent. */
  touch(space: string, digest: Digest): Promise<void>;
  /** Everything, or the contents of one space. */
  list(filter?: { space?: string; kind?: BlobKind }): Promise<StoredBlob[]>;
  /** A small document kept beside a content and removed with it (the resource index of a package). */
  writeNote(space: string, digest: Digest, note: string): Promise<void>;
  findNote(space: string, digest: Digest): Promise<string | undefined>;
}

/** `open` of a content that this space does not have. */
export class BlobNotFound extends Error {
  readonly digest: Digest;
  constructor(space: string, digest: Digest, options: { cause?: unknown } = {}) {
    super(`space ${space} has no content ${digest}`, options);
    this.name = "BlobNotFound";
    this.digest = digest;
  }
}

/** More bytes than the caller allowed. */
export class BlobTooLarge extends Error {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`the content is larger than ${maxBytes} bytes`);
    this.name = "BlobTooLarge";
    this.maxBytes = maxBytes;
  }
}

/** The store cannot be reached, or refuses the platform: a later try may succeed, and the content is not to blame. Its message is for operators. */
export class BlobStoreUnavailable extends Error {
  /** With which it answered, as in HTTP; 0 when no answer came. */
  readonly status: number;
  constructor(message: string, { status = 0, cause }: { status?: number; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = "BlobStoreUnavailable";
    this.status = status;
  }
}

/** A space or digest that can be no key. */
export class InvalidBlobName extends Error {
  constructor(what: string) {
    super(what);
    this.name = "InvalidBlobName";
  }
}

/** Throws unless both are of the form a key has: they become parts of paths. */
export function checkBlobName(space: string, digest?: Digest): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/.test(space))
    throw new InvalidBlobName("a space GUID has only letters, digits and dashes");
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new InvalidBlobName("a digest is sha256: and 64 hex digits");
}

/** Passes bytes through and fails with `BlobTooLarge` after `maxBytes`. */
export function limitBytes(maxBytes: number): Transform {
  let seen = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (seen > maxBytes) done(new BlobTooLarge(maxBytes));
      else done(null, chunk);
    },
  });
}
