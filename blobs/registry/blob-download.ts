// Downloads a blob as a stream: resumed where it was cut, its digest verified at the end.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ImageNotFound, RegistryError, WrongDigest } from "./registry-error.ts";
import type { RegistryAnswer, RegistryHTTP } from "./registry-http.ts";
import { retryDelay } from "./retry-delay.ts";
import { pullScope, type Place } from "./place.ts";

/** A blob that is cut more often than this is given up, even when each piece brings some bytes. */
const MAX_CUTS = 50;

/** `size` is in bytes, where it is known. */
export interface WantedBlob {
  digest: string;
  size?: number;
}

type Part = RegistryAnswer & { body: Readable };

/**
 * Opens a blob. The stream fails instead of ending when the content is not the one that the digest names.
 * @throws ImageNotFound, RegistryError before the first byte; the stream's error is a RegistryError, too
 */
export async function openBlob(http: RegistryHTTP, place: Place, wanted: WantedBlob): Promise<Readable> {
  const first = await openPart(http, place, wanted.digest, 0);
  const content = Readable.from(readParts({ http, place, wanted }, first), { objectMode: false });
  // A generator that never began skips its `finally`, and the unread body would keep its connection.
  return content.once("close", () => first.body.destroy());
}

interface Download {
  http: RegistryHTTP;
  place: Place;
  wanted: WantedBlob;
}

async function* readParts(download: Download, first: Part): AsyncGenerator<Buffer> {
  const { http, place, wanted } = download;
  const [algorithm = "sha256", hex] = wanted.digest.split(":");
  const hash = createHash(algorithm);
  const cuts = { inARow: 0, total: 0 };
  let offset = 0;
  for (let part = first; ; part = await openPart(http, place, wanted.digest, offset)) {
    try {
      for await (const chunk of part.body as AsyncIterable<Buffer>) {
        offset += chunk.length;
        checkSize(download, offset);
        hash.update(chunk);
        cuts.inARow = 0;
        yield chunk;
      }
      if (wanted.size === undefined || offset === wanted.size) break;
      await pauseAfterCut(download, cuts, new Error("it ended early"));
    } catch (error) {
      if (error instanceof RegistryError) throw error;
      await pauseAfterCut(download, cuts, error);
    } finally {
      part.body.destroy();
    }
  }
  if (hash.digest("hex") !== hex) throw new WrongDigest(wanted.digest, `the registry ${place.host}`);
}

function checkSize({ place, wanted }: Download, offset: number): void {
  if (wanted.size !== undefined && offset > wanted.size)
    throw new WrongDigest(wanted.digest, `the registry ${place.host}`);
}

/** @throws RegistryError when there were too many */
async function pauseAfterCut(
  { place, wanted }: Download,
  cuts: { inARow: number; total: number },
  cause: unknown,
): Promise<void> {
  cuts.total++;
  const pause = retryDelay({ failures: ++cuts.inARow, status: 0 }, Date.now(), Math.random());
  if (pause === undefined || cuts.total > MAX_CUTS)
    throw new RegistryError(
      `the download of ${wanted.digest} from the registry ${place.host} broke off ${cuts.total} times`,
      { cause },
    );
  await delay(pause);
}

/** The blob from a byte on. A server that ignores Range is read from the start, and what is known is skipped. */
async function openPart(http: RegistryHTTP, place: Place, digest: string, offset: number): Promise<Part> {
  const answer = await http.open({
    method: "GET",
    registry: place.host,
    target: `/v2/${place.repository}/blobs/${digest}`,
    scopes: [pullScope(place)],
    ...(offset > 0 && { headers: { range: `bytes=${offset}-` } }),
    expected: [200, 206, 404],
  });
  if (answer.status === 404) {
    answer.body.destroy();
    throw new ImageNotFound(`${place.host}/${place.repository}@${digest}`);
  }
  const [, start] = /^bytes (\d+)-/.exec(answer.header("content-range") ?? "") ?? [];
  if (answer.status === 200 && offset > 0)
    return { ...answer, body: Readable.from(skip(answer.body, offset), { objectMode: false }) };
  if (answer.status === 206 && Number(start) !== offset) {
    answer.body.destroy();
    throw new RegistryError(`the registry ${place.host} sent another part of ${digest} than asked for`);
  }
  return answer;
}

async function* skip(body: Readable, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const rest = chunk.subarray(Math.min(left, chunk.length));
    left -= chunk.length - rest.length;
    if (rest.length > 0) yield rest;
  }
}
