// A download's length is the stored one; missing content is CF's error.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BlobStore, BlobStoreUnavailable } from "../../blobs/blob-store.ts";
import { createDirectoryStore } from "../../blobs/directory/directory-store.ts";
import { toCFError } from "../http/error-translation.ts";
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

test.each([
  ["is away", 0, "does not answer. Try again."],
  [
    "answers 500, as with a full disk",
    500,
    "answers with an error (status 500). Try again; if it stays so, the platform's operator must repair it.",
  ],
])("a store that %s is a 503 in CF's shape, without the operator's words", async (_, status, detail) => {
  const away = () => Promise.reject(new BlobStoreUnavailable("registry.internal:5000 has no room", { status }));
  const refused = await toBlobReply({ find: away } as unknown as BlobStore, "space", `sha256:${"0".repeat(64)}`).catch(
    toCFError,
  );
  expect(refused).toMatchObject({
    status: 503,
    errors: [{ code: 10015, title: "CF-ServiceUnavailable", detail: `The store of packages and droplets ${detail}` }],
  });
});
