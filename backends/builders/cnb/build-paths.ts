// Names of one build: its Pod and Secrets, and its images in the space's part of the registry. Pure.
import { createHash } from "node:crypto";
import type { Staging } from "../../../crds/staging/staging.ts";

const MAX_NAME_LENGTH = 63;

/** Name of the Pod, and prefix of the names of its Secrets: the Staging's, so that a second attempt finds the first. */
export function toPodName(staging: Staging): string {
  const name = `${staging.metadata.name}-build`;
  // Pods are host names, which take no dots and 63 characters.
  if (name.length <= MAX_NAME_LENGTH && !name.includes(".")) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  const readable = staging.metadata.name.replaceAll(".", "-").slice(0, MAX_NAME_LENGTH - "-build-".length - 10);
  return `${readable}-build-${digest}`;
}

export const toEnvSecretName = (staging: Staging): string => `${toPodName(staging)}-env`;
export const toRegistrySecretName = (staging: Staging): string => `${toPodName(staging)}-registry`;

export interface BuildImages {
  /** The exported image, with a tag of this build. */
  image: string;
  /** The app's last image, whose unchanged layers are not uploaded again. */
  latest: string;
  /** Layers that only later builds need. */
  cache: string;
  /** Where the images are: `image` without a tag. */
  repository: string;
}

/** `prefix` is `host[:port]/path`. */
export function toBuildImages(prefix: string, { app, space, buildGUID }: Staging["spec"]): BuildImages {
  const repository = `${prefix}/${space.guid}/apps/${app.guid}`;
  return {
    image: `${repository}:${buildGUID}`,
    latest: `${repository}:latest`,
    cache: `${repository}/cache:latest`,
    repository,
  };
}
