// A builder's view of a registry: places of the platform's images, and configs of images.
import { isArchiveFault } from "../../blobs/archive/archive-fault.ts";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { BlobTooLarge } from "../../blobs/blob-store.ts";
import { LRUCache } from "lru-cache";
import { formatImageName, InvalidImageName, parseImageName, type ImageName } from "../../blobs/registry/image-name.ts";
import type { RegistryClient } from "../../blobs/registry/registry-client.ts";
import { ImageNotFound, RegistryError } from "../../blobs/registry/registry-error.ts";
import { StagingFailure } from "./staging-failure.ts";

/** The fields of an OCI image config that say what an image is. */
export interface ImageConfig {
  env: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** Digests of the unpacked layers, the lowest first. */
  layers: readonly string[];
  /** How many layers the image's history tells of. */
  layersInHistory: number;
  /** As in `linux/amd64`. */
  platform: string;
}

export interface InspectedImage {
  /** The image by digest. */
  reference: string;
  config: ImageConfig;
}

export interface BuildRegistry {
  /** `host[:port]/path` below which the images and blobs of all spaces are. */
  prefix: string;
  /** Hosts to reach by plain http. */
  insecureHosts: readonly string[];
  /** The content of a dockerconfigjson, as it is now; undefined when the platform has no credentials. */
  readDockerConfig: () => Promise<string | undefined>;
  /** @throws InvalidImageName, ImageNotFound, RegistryError */
  inspect(image: string): Promise<InspectedImage>;
}

/** Remembers builder and run images, and the last images of apps. */
const MAX_REMEMBERED = 50;

/** Reads images' configs with the platform's credentials. What a digest names never changes, so it is read once. */
export function createImageInspector(client: Pick<RegistryClient, "resolve" | "getConfig">): BuildRegistry["inspect"] {
  const known = new LRUCache<string, InspectedImage>({ max: MAX_REMEMBERED });
  return async (image) => {
    const name = parseImageName(image);
    const { host, repository } = name;
    // An index keeps its own digest, since nodes choose from it.
    const resolved = { host, repository, digest: name.digest ?? (await client.resolve(name)) };
    const reference = formatImageName(resolved);
    const inspected = known.get(reference) ?? (await inspectImage(client, resolved));
    known.set(reference, inspected);
    return inspected;
  };
}

async function inspectImage(
  client: Pick<RegistryClient, "getConfig">,
  resolved: ImageName & { digest: string },
): Promise<InspectedImage> {
  const { config, rootfs, history = [], os = "", architecture = "" } = (await client.getConfig(resolved)).config;
  return {
    reference: formatImageName(resolved),
    config: {
      env: config?.Env ?? [],
      labels: config?.Labels ?? {},
      layers: rootfs?.diff_ids ?? [],
      layersInHistory: history.filter(({ empty_layer }) => empty_layer !== true).length,
      platform: `${os}/${architecture}`,
    },
  };
}

/** Answers of a registry that stay the same when it is asked again. */
const FINAL_STATUSES = new Set([400, 401, 403, 404, 415]);

/** As a StagingFailure where no retry helps: the image is not there, not for us, or its name is none. Otherwise the error itself. */
export function presentImageError(error: unknown, what: string): unknown {
  const isFinal =
    error instanceof ImageNotFound ||
    error instanceof InvalidImageName ||
    error instanceof ArchiveRejected ||
    error instanceof BlobTooLarge ||
    isArchiveFault(error) ||
    (error instanceof RegistryError && FINAL_STATUSES.has(error.status));
  return isFinal ? new StagingFailure("StagingError", `${what}: ${error.message}`, { cause: error }) : error;
}

/** Stands in where the process has no registry: every build fails with the reason, and so does the class's condition. */
export const noRegistry: BuildRegistry = {
  prefix: "",
  insecureHosts: [],
  readDockerConfig: () => Promise.resolve(undefined),
  inspect: () =>
    Promise.reject(
      new StagingFailure("StagingError", "an operator has to start the operation of this builder with --registry"),
    ),
};
