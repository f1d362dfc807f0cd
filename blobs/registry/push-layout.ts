// Pushes an image from a folder in the form of an OCI image layout: `index.json` and `blobs/sha256/<hex>`.
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../../kube/api/parse-json.ts";
import type { BlobSource } from "./blob-upload.ts";
import { isIndex, MEDIA_TYPES, type Descriptor, type ImageIndex, type ImageManifest } from "./image-manifest.ts";
import type { ImageName } from "./image-name.ts";
import type { RegistryClient } from "./registry-client.ts";

/**
 * Pushes the layout's one image, or index of images, under `image`'s tag, and returns its digest. What the registry has already is not sent.
 * @throws RegistryError, or Error when the folder is no layout with one image
 */
export async function pushLayout(client: RegistryClient, folder: string, image: ImageName): Promise<string> {
  const { manifests } = (await readJson(join(folder, "index.json"))) as ImageIndex;
  const [only] = manifests;
  if (!only || manifests.length > 1)
    throw new Error(`${folder} holds ${manifests.length} images; an OCI layout to push holds one`);
  return pushDescriptor(client, { folder, image }, only);
}

async function pushDescriptor(
  client: RegistryClient,
  { folder, image }: { folder: string; image: ImageName },
  descriptor: Descriptor,
): Promise<string> {
  const path = pathOf(folder, descriptor.digest);
  const bytes = await readFile(path);
  const content = parseJson(bytes.toString("utf8")) as ImageIndex & ImageManifest;
  const mediaType = content.mediaType ?? descriptor.mediaType ?? MEDIA_TYPES.manifest;
  const { host, repository } = image;
  if (isIndex(mediaType)) {
    for (const child of content.manifests) await pushDescriptor(client, { folder, image: { host, repository } }, child);
  } else {
    for (const { digest } of [...content.layers, content.config])
      await client.uploadBlob(image, await fileSource(pathOf(folder, digest), digest));
  }
  return client.pushManifest(image, { mediaType, bytes });
}

/** A file as the source of an upload. @throws Error when it cannot be read */
export async function fileSource(path: string, digest: string): Promise<BlobSource> {
  const { size } = await stat(path);
  return { digest, size, open: (start, end) => createReadStream(path, { start, end: end - 1 }) };
}

function pathOf(folder: string, digest: string): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${folder} names a content by no SHA-256 digest`);
  return join(folder, "blobs", "sha256", digest.slice("sha256:".length));
}

async function readJson(path: string): Promise<unknown> {
  return parseJson(await readFile(path, "utf8"));
}
