// The next step after the refusal of one of Cloud Foundry's own buildpacks that is not installed here.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** Cloud Foundry's buildpacks that a laptop has no counterpart of. */
const CLASSIC = new Set(["dotnet_core_buildpack", "nginx_buildpack", "r_buildpack"]);
/** Serves files, which many apps with the nginx buildpack only do. */
const FILES = "staticfile_buildpack";

/** Names to use instead of an unknown buildpack, as text behind CF's refusal; empty where that is not known. */
export function adviseMissingBuildpack(cache: ClusterCache, name: string): string {
  const onHost = cache
    .store(BackendClass)
    .list()
    .some(({ spec, status }) => spec.role === "builder" && status?.capabilities?.["isolation"] === "none");
  if (!onHost || !CLASSIC.has(name)) return "";
  const image = "a Cloud Native Buildpack of a registry (-b docker://IMAGE)";
  const installed = cache.store(Buildpack).list();
  const hasFiles = name === "nginx_buildpack" && installed.some(({ spec }) => spec.name === FILES);
  return `. It is not available here. Name ${hasFiles ? `-b ${FILES}, which serves files, or ` : ""}${image}`;
}
