// The source of a build, as an archive: content of the blob store, or files in the Staging.
import { Readable } from "node:stream";
import { packMembers } from "../../../blobs/archive/tar.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { StagingFailure } from "../staging-failure.ts";

/** A digest in the blob store, or path to text. */
export type PackageSource = { digest: string } | { files: Readonly<Record<string, string>> };

/** A tar.gz, whose paths are checked when it is unpacked. @throws StagingFailure when the blob store does not have it */
export async function openSource(job: { source: PackageSource; store: BlobStore; space: string }): Promise<Readable> {
  const { source, store, space } = job;
  if ("files" in source) return packFiles(source.files);
  return await store.open(space, source.digest).catch((cause: unknown) => {
    throw new StagingFailure("StagingError", "the package's content is not in the blob store; push again", { cause });
  });
}

function packFiles(files: Readonly<Record<string, string>>): Readable {
  return packMembers(
    Object.entries(files).map(([path, text]) => {
      const bytes = Buffer.from(text);
      return { path, type: "file", mode: 0o644, size: bytes.length, content: () => Readable.from([bytes]) };
    }),
  );
}
