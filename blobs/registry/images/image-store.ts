// Droplets that are images of a registry: as files, and as copies for other apps.
import pLimit from "p-limit";
import { parseJson } from "../../../kube/api/parse-json.ts";
import type { ImageStore, SpaceImage } from "../../image-store.ts";
import type { ImageManifest } from "../image-manifest.ts";
import {
  appRepositoryOf,
  formatImageName,
  isOfSpace,
  parseImageName,
  type ImageName,
  type RegistryPrefix,
} from "../image-name.ts";
import type { RegistryClient } from "../registry-client.ts";
import { ImageNotFound } from "../registry-error.ts";
import { openDropletArchive } from "./droplet-archive.ts";
import { provideBlob } from "./provide-blob.ts";

const BLOBS_AT_ONCE = 4;

export function createImageStore(client: RegistryClient, prefix: RegistryPrefix): ImageStore {
  return {
    async openDroplet(image) {
      const own = findOwn(prefix, image);
      return own && openDropletArchive(client, own);
    },
    async copyDroplet(image, { space, app, droplet }) {
      const from = findOwn(prefix, image);
      if (!from) return image.image;
      const to = { host: prefix.host, repository: appRepositoryOf(prefix, space, app) };
      return formatImageName({ ...to, digest: await copyImage(client, from, { ...to, tag: droplet }) });
    },
  };
}

/** The platform's credentials open more than a space may read: only what is its own is read with them. */
function findOwn(prefix: RegistryPrefix, { space, image }: SpaceImage): ImageName | undefined {
  const name = parseImageName(image);
  return isOfSpace(prefix, space, name) ? name : undefined;
}

/** Returns its digest, which stays. */
async function copyImage(client: RegistryClient, from: ImageName, to: ImageName): Promise<string> {
  const { digest } = await client.getManifest(from);
  const raw = await client.findManifest({ host: from.host, repository: from.repository, digest });
  if (!raw) throw new ImageNotFound(formatImageName(from));
  const { config, layers } = parseJson(raw.bytes.toString("utf8")) as ImageManifest;
  const limit = pLimit(BLOBS_AT_ONCE);
  await Promise.all([config, ...layers].map((blob) => limit(() => provideBlob(client, blob, { from, to }))));
  return client.pushManifest(to, raw);
}
