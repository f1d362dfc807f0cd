// Multipart uploads as clients send them.
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { processScratch, ScratchFull, ScratchSpace } from "../../blobs/scratch/scratch-space.ts";
import { readUploadForm } from "./upload-form.ts";

test("a file without a name has an empty one", async () => {
  const scratch = await processScratch.open("forms", AbortSignal.timeout(5_000));
  const lines = [
    "--b",
    'Content-Disposition: form-data; name="bits"',
    "Content-Type: application/octet-stream",
    "",
    "abc",
    "--b--",
    "",
  ];
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const request = Object.assign(Readable.from([Buffer.from(lines.join("\r\n"))]), { headers });
  try {
    const options = { scratch, maxBytes: 100 };
    const { bits } = await readUploadForm(request as unknown as IncomingMessage, options);
    expect(bits?.filename).toBe("");
    expect(await readFile(bits?.path ?? "", "utf8")).toBe("abc");
  } finally {
    await scratch.remove();
  }
});

test("a body that is no form has no parts", async () => {
  const request = Object.assign(Readable.from(["{}"]), { headers: { "content-type": "application/json" } });
  const scratch = await processScratch.open("forms", AbortSignal.timeout(5_000));
  onTestFinished(() => scratch.remove());
  const options = { scratch, maxBytes: 100 };
  expect(await readUploadForm(request as unknown as IncomingMessage, options)).toEqual({});
});

test("resources go to disk, other parts are not kept", async () => {
  const scratch = await processScratch.open("forms", AbortSignal.timeout(5_000));
  const part = (disposition: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
  const form = [
    part('name="resources"', "[1]"),
    ...Array.from({ length: 10 }, (_, at) => part(`name="f${at}"`, "x".repeat(100_000))),
    part('name="other"; filename="other"', "y".repeat(100_000)),
    part('name="bits"; filename="a.zip"', "first"),
    part('name="bits"; filename="b.zip"', "second"),
    "--b--\r\n",
  ];
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const request = Object.assign(Readable.from([Buffer.from(form.join(""))]), { headers });
  try {
    const options = { scratch, maxBytes: 100 };
    const parts = await readUploadForm(request as unknown as IncomingMessage, options);
    expect(parts).toEqual({
      bits: { path: join(scratch.path, "bits"), filename: "a.zip" },
      resources: join(scratch.path, "resources"),
    });
    expect(await readFile(join(scratch.path, "bits"), "utf8")).toBe("first");
    expect(await readFile(join(scratch.path, "resources"), "utf8")).toBe("[1]");
    expect((await readdir(scratch.path)).toSorted()).toEqual(["bits", "resources"]);
  } finally {
    await scratch.remove();
  }
});

test("at a fault the rest of the body is read, since the connection is used again", async () => {
  const space = new ScratchSpace();
  const home = await mkdtemp(join(tmpdir(), "upload-form-"));
  onTestFinished(() => rm(home, { recursive: true }));
  await space.begin({ folder: home, maxBytes: 10 });
  const scratch = await space.open("forms", AbortSignal.timeout(5_000));
  const head = '--b\r\nContent-Disposition: form-data; name="bits"; filename="x"\r\n\r\n';
  const chunks = [head, ...Array.from({ length: 20 }, () => "x".repeat(50_000)), "\r\n--b--\r\n"];
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const request = Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers });
  const ended = once(request, "end", { signal: AbortSignal.timeout(5_000) });
  const reading = readUploadForm(request as unknown as IncomingMessage, { scratch, maxBytes: 1e9 });
  await expect(reading).rejects.toThrow(ScratchFull);
  await ended;
});

test("who leaves in the middle ends the reading, and nothing else", async () => {
  const left = new AbortController();
  const scratch = await processScratch.open("forms", left.signal);
  const request = Object.assign(new PassThrough(), { headers: { "content-type": "multipart/form-data; boundary=b" } });
  request.write('--b\r\nContent-Disposition: form-data; name="bits"; filename="a"\r\n\r\nhalf of it');
  try {
    const reading = readUploadForm(request as unknown as IncomingMessage, { scratch, maxBytes: 100 });
    await vi.waitFor(async () => expect(await readdir(scratch.path)).toEqual(["bits"]));
    left.abort();
    await expect(reading).rejects.toThrow("ended before it was whole");
  } finally {
    await scratch.remove();
  }
});
