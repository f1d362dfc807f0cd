// Presents a Buildpack as CF's JSON.
import { isAwaitingUpload } from "../../crds/buildpack/awaiting-upload.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { presentIdentity, link, presentMetadata } from "../http/presentation.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentBuildpack(cache: ClusterCache, buildpack: Buildpack, base: string): object {
  const at = presentIdentity(cache, Buildpack, buildpack);
  const { name, stack, lifecycle, position, enabled, locked } = buildpack.spec;
  const self = `${base}/v3/buildpacks/${at.guid}`;
  return {
    ...at,
    name,
    stack: stack ?? null,
    state: isAwaitingUpload(buildpack) ? "AWAITING_UPLOAD" : "READY",
    lifecycle,
    filename: filenameOf(buildpack),
    position,
    enabled,
    locked,
    ...presentMetadata(buildpack),
    links: { self: link(self), upload: link(`${self}/upload`, "POST") },
  };
}

function filenameOf({ spec: { name, path, filename }, status }: Buildpack): string | null {
  if (filename !== undefined) return filename;
  return path ? `${name}${status?.version ? `-v${status.version}` : ""}` : null;
}
