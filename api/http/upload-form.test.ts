// Multipart uploads as clients send them.
import type { IncomingMessage } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readUploadForm } from "./upload-form.ts";

test("a file without a name has an empty one", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "upload-form-"));
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
    const options = { scratch, maxBytes: 100, signal: AbortSignal.timeout(5_000) };
    const { bits } = await readUploadForm(request as unknown as IncomingMessage, options);
    expect(bits?.filename).toBe("");
    expect(await readFile(bits?.path ?? "", "utf8")).toBe("abc");
  } finally {
    await rm(scratch, { recursive: true });
  }
});

test("a body that is no form has no parts", async () => {
  const request = Object.assign(Readable.from(["{}"]), { headers: { "content-type": "application/json" } });
  const options = { scratch: tmpdir(), maxBytes: 100, signal: AbortSignal.timeout(5_000) };
  expect(await readUploadForm(request as unknown as IncomingMessage, options)).toEqual({ fields: {} });
});
