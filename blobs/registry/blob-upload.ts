// Uploads a blob in pieces. A cut piece goes on where the registry says it stopped; an upload that the registry has forgotten begins again.
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { RegistryError } from "./registry-error.ts";
import type { RegistryAnswer, RegistryCall, RegistryHTTP } from "./registry-http.ts";
import { retryDelay } from "./retry-delay.ts";
import { pullScope, pushScope, type Place } from "./place.ts";

/** Content that can be read more than once: an upload may have to begin again. */
export interface BlobSource {
  digest: string;
  /** In bytes. */
  size: number;
  /** The bytes from `start` up to, not including, `end`. */
  open(start: number, end: number): Buffer | Readable;
}

export interface UploadOptions {
  /** Sends it even when the registry says that it has it: a registry may say so of what its garbage collection removed. */
  force?: boolean;
}

/** Most contents are one piece, since some registries take no more. */
const PIECE_BYTES = 32 * 1024 * 1024;
/** So much is sent in one request less. */
const SMALL_BYTES = 1024 * 1024;
const MAX_STARTS = 3;
const PIECE_DEADLINE_MS = 60_000;
/** The slowest connection that a piece is waited for. */
const MIN_BYTES_PER_MS = 256;
const CANCEL_DEADLINE_MS = 2_000;

/** The registry does not know this upload any more, or lost a part of it. */
class UploadLost extends Error {}

/** Uploads, or finds that the repository has it already. @throws RegistryError */
export async function uploadBlob(
  http: RegistryHTTP,
  place: Place,
  source: BlobSource,
  { force = false }: UploadOptions = {},
): Promise<void> {
  if (!force && (await hasBlob(http, place, source.digest))) return;
  for (let starts = 1; ; starts++) {
    try {
      return await uploadOnce(http, place, source);
    } catch (error) {
      if (!(error instanceof UploadLost)) throw error;
      if (starts === MAX_STARTS)
        throw new RegistryError(`the registry ${place.host} lost the upload of ${source.digest} ${starts} times`, {
          cause: error,
        });
    }
  }
}

/** Whether the repository has the blob. @throws RegistryError */
export async function hasBlob(http: RegistryHTTP, place: Place, digest: string): Promise<boolean> {
  const { status } = await http.call({
    method: "HEAD",
    registry: place.host,
    target: `/v2/${place.repository}/blobs/${digest}`,
    scopes: [pushScope(place)],
    expected: [200, 404],
  });
  return status === 200;
}

/**
 * Gives a repository a blob of another one of the same registry, without sending it. False where the registry does not do that, or has no such blob.
 * @throws RegistryError
 */
export async function mountBlob(http: RegistryHTTP, place: Place, digest: string, from: string): Promise<boolean> {
  const started = await startUpload(http, place, { digest, from });
  if (started.status === 201) return true;
  await new Session(http, place, { digest, size: 0, open: () => Buffer.alloc(0) }, started).cancel();
  return false;
}

async function uploadOnce(http: RegistryHTTP, place: Place, source: BlobSource): Promise<void> {
  const session = new Session(http, place, source, await startUpload(http, place));
  try {
    let offset = 0;
    if (source.size > SMALL_BYTES) while (offset < source.size) offset = await session.sendPiece(offset);
    await session.finish(offset);
  } catch (error) {
    await session.cancel();
    throw error;
  }
}

async function startUpload(
  http: RegistryHTTP,
  place: Place,
  mount?: { digest: string; from: string },
): Promise<RegistryAnswer> {
  const query = mount ? `?${new URLSearchParams({ mount: mount.digest, from: mount.from })}` : "";
  const own = pushScope(place);
  return http.call({
    method: "POST",
    registry: place.host,
    target: `/v2/${place.repository}/blobs/uploads/${query}`,
    scopes: mount ? [own, pullScope({ ...place, repository: mount.from })] : [own],
    headers: { "content-length": "0" },
    expected: mount ? [201, 202] : [202],
  });
}

class Session {
  readonly #http: RegistryHTTP;
  readonly #place: Place;
  readonly #source: BlobSource;
  readonly #pieceBytes: number;
  /** Each answer names where the next request goes. */
  #location: URL;

  constructor(http: RegistryHTTP, place: Place, source: BlobSource, started: RegistryAnswer) {
    this.#http = http;
    this.#place = place;
    this.#source = source;
    this.#pieceBytes = Math.max(PIECE_BYTES, Number(started.header("oci-chunk-min-length")) || 0);
    this.#location = toLocation(started, place.host);
  }

  /** Sends from `offset` on, and returns how far the registry has come. @throws UploadLost, RegistryError */
  async sendPiece(offset: number): Promise<number> {
    const end = Math.min(offset + this.#pieceBytes, this.#source.size);
    for (let failures = 1; ; failures++) {
      try {
        const answer = await this.#call({
          method: "PATCH",
          headers: {
            "content-type": "application/octet-stream",
            "content-length": String(end - offset),
            "content-range": `${offset}-${end - 1}`,
          },
          body: () => this.#source.open(offset, end),
          deadlineMs: PIECE_DEADLINE_MS + (end - offset) / MIN_BYTES_PER_MS,
          retries: false,
          expected: [201, 202, 204],
        });
        return this.#checkProgress(endOfRange(answer) ?? end, { offset, end });
      } catch (error) {
        await pauseAfter(error, failures);
      }
      const reached = await this.#askProgress({ offset, end });
      if (reached > offset) return reached;
    }
  }

  /** Sends what is left from `offset` on with the last request. @throws UploadLost, RegistryError */
  async finish(offset: number): Promise<void> {
    const { digest, size } = this.#source;
    for (let failures = 1; ; failures++) {
      const target = new URL(this.#location);
      target.searchParams.set("digest", digest);
      try {
        await this.#call({
          method: "PUT",
          target,
          headers: { "content-length": String(size - offset), "content-type": "application/octet-stream" },
          ...(size > offset && { body: () => this.#source.open(offset, size) }),
          retries: false,
          expected: [201, 204],
        });
        return;
      } catch (error) {
        // Its answer may have been lost after the registry had done it.
        if (await hasBlob(this.#http, this.#place, digest)) return;
        await pauseAfter(error, failures);
      }
    }
  }

  /** Frees what the registry keeps of an unfinished upload. A failure is harmless: registries remove old uploads. */
  async cancel(): Promise<void> {
    await this.#call({
      method: "DELETE",
      retries: false,
      expected: [202, 204, 404],
      deadlineMs: CANCEL_DEADLINE_MS,
    }).catch(() => undefined);
  }

  async #askProgress(piece: { offset: number; end: number }): Promise<number> {
    const answer = await this.#call({ method: "GET", expected: [202, 204] }).catch(toLost);
    const reached = endOfRange(answer) ?? 0;
    // Registries say 0-0 for nothing and for one byte.
    return this.#checkProgress(reached === 1 && piece.offset === 0 ? 0 : reached, piece);
  }

  #checkProgress(reached: number, { offset, end }: { offset: number; end: number }): number {
    if (reached < offset || reached > end)
      throw new UploadLost(`the registry has ${reached} bytes of an upload of ${offset} to ${end}`);
    return reached;
  }

  async #call(call: Omit<RegistryCall, "registry" | "target" | "scopes"> & { target?: URL }): Promise<RegistryAnswer> {
    const answer = await this.#http.call({
      registry: this.#place.host,
      target: this.#location,
      scopes: [pushScope(this.#place)],
      ...call,
    });
    if (answer.header("location") !== undefined) this.#location = toLocation(answer, this.#place.host);
    return answer;
  }
}

/** Waits before the next try. @throws UploadLost, or `error` when there is no next try */
async function pauseAfter(error: unknown, failures: number): Promise<void> {
  const failure = toFailure(error);
  const pause = retryDelay(
    { failures, status: failure.status, retryAfter: failure.retryAfter },
    Date.now(),
    Math.random(),
  );
  if (pause === undefined) throw failure;
  await delay(pause);
}

function toFailure(error: unknown): RegistryError {
  if (!(error instanceof RegistryError)) throw error;
  // 404: forgotten. 400 and 416: it has another number of bytes than we think, or one of them is wrong.
  if ([400, 404, 416].includes(error.status)) throw new UploadLost(error.message, { cause: error });
  return error;
}

function toLost(error: unknown): never {
  throw toFailure(error);
}

function toLocation(answer: RegistryAnswer, host: string): URL {
  const location = answer.header("location");
  const url = location === undefined ? null : URL.parse(location, answer.url);
  if (!url) throw new RegistryError(`the registry ${host} names no address for an upload`);
  return url;
}

/** The number of bytes in `Range: 0-99`. */
function endOfRange(answer: RegistryAnswer): number | undefined {
  const [, last] = /^(?:bytes=)?0-(\d+)$/.exec(answer.header("range") ?? "") ?? [];
  return last === undefined ? undefined : Number(last) + 1;
}
