// A package of 1 GiB that cannot be compressed goes in and comes out, and the platform's memory stays flat. Only by its name: `npm run e2e -- big-upload`.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { setInterval as every } from "node:timers/promises";
import { ZipFile } from "yazl";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiAt, type Api } from "./support/api.ts";
import { tokenOf } from "./support/api.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const MEBIBYTE = 1 << 20;
/** The upload is bounded at 1 GiB, form and zip's directory included. */
const FILE_BYTES = 1023 * MEBIBYTE;
/** Memory that streams and their buffers may take, and the garbage of some seconds. */
const FLAT_BYTES = 256 * MEBIBYTE;
const BOUNDARY = "big-upload";

let platform: TestPlatform;
let api: Api;
beforeAll(async () => {
  platform = await startTestPlatform();
  api = apiAt(platform.url, tokenOf(platform, "admin"));
});
afterAll(() => platform?.stop());

function* chunks(bytes: number): Generator<Buffer> {
  // A random chunk, made different each time, is as hard to compress as fresh ones.
  const chunk = randomBytes(MEBIBYTE);
  for (let left = bytes; left > 0; left -= chunk.length) {
    chunk.writeUInt32LE(left >>> 0, 0);
    yield Buffer.from(chunk.subarray(0, Math.min(left, chunk.length)));
  }
}

/** A form with a stored zip of one file of random bytes, as a stream. */
function bigForm(): Readable {
  const zip = new ZipFile();
  zip.addReadStream(Readable.from(chunks(FILE_BYTES)), "big.bin", { compress: false });
  zip.end();
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="bits"; filename="bits.zip"\r\n\r\n`;
  const body = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from(head);
    for await (const part of zip.outputStream.pipe(new PassThrough())) yield part as Buffer;
    yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  };
  return Readable.from(body());
}

/** Resident bytes of all processes of the platform. */
function residentBytes(): number {
  const of = (pid: number): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  return platform
    .pids()
    .map(of)
    .reduce((sum, one) => sum + one, 0);
}

/** The most that was resident while `work` went on. */
async function peakDuring(work: () => Promise<void>): Promise<number> {
  const over = new AbortController();
  let peak = 0;
  const sampling = (async () => {
    for await (const _ of every(100, undefined, { signal: over.signal })) peak = Math.max(peak, residentBytes());
  })().catch(() => undefined);
  await work().finally(() => over.abort());
  await sampling;
  return peak;
}

test("1 GiB of random bytes goes up and down with flat memory", { timeout: 900_000 }, async () => {
  const headers = { authorization: `bearer ${tokenOf(platform, "admin")}` };
  const [space] = (await api.call<{ resources: { guid: string }[] }>("GET", "/v3/spaces")).resources;
  const app = await api.call("POST", "/v3/apps", {
    name: "big",
    relationships: { space: { data: { guid: space?.guid } } },
  });
  const relationships = { app: { data: { guid: app.guid } } };
  const { guid } = await api.call("POST", "/v3/packages", { type: "bits", relationships });
  const before = residentBytes();
  const up = await peakDuring(async () => {
    const answer = await fetch(`${platform.url}/v3/packages/${guid}/upload`, {
      method: "POST",
      headers: { ...headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      body: Readable.toWeb(bigForm()) as ReadableStream,
      duplex: "half",
    } as RequestInit);
    expect([answer.status, (await answer.text()).slice(0, 300)]).toEqual([200, expect.stringContaining(guid)]);
  });
  let received = 0;
  const down = await peakDuring(async () => {
    const answer = await fetch(`${platform.url}/v3/packages/${guid}/download`, { headers });
    for await (const part of answer.body ?? []) received += (part as Uint8Array).length;
  });
  console.log(`resident: ${[before, up, down].map((bytes) => `${Math.round(bytes / MEBIBYTE)} MiB`).join(", ")}`);
  expect(received).toBeGreaterThan(FILE_BYTES);
  expect(up - before).toBeLessThan(FLAT_BYTES);
  expect(down - before).toBeLessThan(FLAT_BYTES);
});
