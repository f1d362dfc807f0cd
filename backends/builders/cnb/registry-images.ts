// What the builder needs of a registry: where the platform's images are, and what an image says of itself.
import { StagingFailure } from "../staging-failure.ts";
import type { ImageConfig } from "./builder-image.ts";

export interface InspectedImage {
  /** The image by digest. */
  reference: string;
  config: ImageConfig;
}

export interface BuildRegistry {
  /** `host[:port]/path` below which the images and blobs of all spaces are. */
  prefix: string;
  /** Set when the host is reached by plain http. */
  insecureHost: string | undefined;
  /** The content of a dockerconfigjson, as it is now; undefined when the platform has no credentials. */
  readDockerConfig: () => Promise<string | undefined>;
  /** @throws ImageNotFound, or RegistryError with the HTTP status, 0 for none */
  inspect(image: string): Promise<InspectedImage>;
}

/** As a StagingFailure where no retry helps: the image is not there, not for us, or its name is none. Otherwise the error itself. */
export function presentImageError(error: unknown, what: string): unknown {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  const isFinal =
    error instanceof Error &&
    (["ImageNotFound", "InvalidImageName"].includes(error.name) || status === 401 || status === 403 || status === 404);
  return isFinal ? new StagingFailure("StagingError", `${what}: ${error.message}`, { cause: error }) : error;
}

/** Stands in where the process has no registry: every build fails with the reason, and so does the class's condition. */
export const noRegistry: BuildRegistry = {
  prefix: "",
  insecureHost: undefined,
  readDockerConfig: () => Promise.resolve(undefined),
  inspect: () =>
    Promise.reject(
      new StagingFailure("StagingError", "an operator has to start the operation cnb-builder with --registry"),
    ),
};
