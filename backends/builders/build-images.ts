// Names of a build's images, in the space's part of the registry. Pure.
import type { Staging } from "../../crds/staging/staging.ts";

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
export function toBuildImages(prefix: string, { app, space, buildGUID, cacheKey }: Staging["spec"]): BuildImages {
  const repository = `${prefix}/${space.guid}/apps/${app.guid}`;
  return {
    image: `${repository}:${buildGUID}`,
    latest: `${repository}:latest`,
    cache: `${repository}/cache:${cacheKey ?? "latest"}`,
    repository,
  };
}
