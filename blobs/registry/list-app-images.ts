// Lists the images and caches that builds left in the platform's part of a registry.
import pLimit from "p-limit";
import type { AppImage } from "../plan-image-removal.ts";
import type { RegistryPrefix } from "./image-name.ts";
import type { RegistryClient } from "./registry-client.ts";
import { ImageNotFound } from "./registry-error.ts";

const REQUESTS_AT_ONCE = 8;

/** Undefined where the registry does not list its repositories. @throws RegistryError */
export async function listAppImages(client: RegistryClient, prefix: RegistryPrefix): Promise<AppImage[] | undefined> {
  const repositories = await client.listRepositories(prefix.host);
  if (!repositories) return undefined;
  const limit = pLimit(REQUESTS_AT_ONCE);
  const below = prefix.path === "" ? "" : `${prefix.path}/`;
  const lists = repositories.flatMap((repository) => {
    const [, app, cache] = /^[^/]+\/apps\/([^/]+)(\/cache)?$/.exec(afterPrefix(repository, below)) ?? [];
    return app === undefined
      ? []
      : [limit(() => listTagged(client, { host: prefix.host, repository, app, isCache: cache !== undefined }))];
  });
  return (await Promise.all(lists)).flat();
}

function afterPrefix(repository: string, prefix: string): string {
  return repository.startsWith(prefix) ? repository.slice(prefix.length) : "";
}

async function listTagged(
  client: RegistryClient,
  { host, ...place }: Omit<AppImage, "tag" | "digest"> & { host: string },
): Promise<AppImage[]> {
  const images: AppImage[] = [];
  for (const tag of await client.listTags({ host, repository: place.repository })) {
    const digest = await client.resolve({ host, repository: place.repository, tag }).catch((error: unknown) => {
      if (error instanceof ImageNotFound) return undefined;
      throw error;
    });
    if (digest !== undefined) images.push({ ...place, tag, digest });
  }
  return images;
}
