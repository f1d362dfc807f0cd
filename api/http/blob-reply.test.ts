// A download's length is the stored one; missing content is CF's error.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDirectoryStore } from "../../blobs/directory/directory-store.ts";
import { toCFError } from "./error-translation.ts";
import { toBlobReply } from "./blob-reply.ts";

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "cupola-blob-reply-"))));
afterEach(() => rm(directory, { recursive: true, force: true }));

test("the length is that of the body", async () => {
  const store = await createDirectoryStore(directory);
  const { digest } = await store.put("space", "package", Readable.from(["bits"]), { maxBytes: 100 });
  const { status, body, headers } = await toBlobReply(store, "space", digest);
  expect([status, headers?.["content-length"], (await buffer(body as Readable)).toString()]).toEqual([
    200,
    "4",
    "bits",
  ]);
});

test("missing content is a blob store error in CF's words", async () => {
  const store = await createDirectoryStore(directory);
  const { digest } = await store.put("another", "package", Readable.from(["bits"]), { maxBytes: 100 });
  const refused = await toBlobReply(store, "space", digest).catch(toCFError);
  expect(refused).toMatchObject({ key: "BlobstoreUnavailable", status: 502 });
});
