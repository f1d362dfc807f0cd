// Multipart uploads as clients send them.
import type { IncomingMessage } from "node:http";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
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
  expect(await readUploadForm(request as unknown as IncomingMessage, options)).toEqual({ fields: {} });
});
