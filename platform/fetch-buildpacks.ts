// The part of `cupola fetch-package` that only builds with uploaded or fetched buildpacks need.
import { placeBuildpacks, type PlaceOptions } from "../backends/builders/cnb/place-buildpacks.ts";
import { repositoryOf, type RegistryPrefix } from "../blobs/registry/image-name.ts";
import type { RegistryClient } from "../blobs/registry/registry-client.ts";
import { ImageNotFound } from "../blobs/registry/registry-error.ts";
import { BUILDPACK_BLOBS } from "../crds/buildpack/buildpack.ts";

/** `prefix` is where the platform keeps its blobs. @throws Error that names the buildpack which cannot be used */
export async function fetchBuildpacks({
  client,
  prefix,
  ...options
}: Omit<PlaceOptions, "open"> & { client: Pick<RegistryClient, "openBlob">; prefix: RegistryPrefix }): Promise<void> {
  const uploads = { host: prefix.host, repository: repositoryOf(prefix, BUILDPACK_BLOBS, "package") };
  await placeBuildpacks({
    ...options,
    open: (digest) =>
      client.openBlob(uploads, { digest }).catch((cause: unknown) => {
        if (!(cause instanceof ImageNotFound)) throw cause;
        throw new Error("its content is not in the registry; an admin has to upload it again", { cause });
      }),
  });
}
