// Builds the App for a create body or a manifest entry.
import { App } from "../../../crds/app/app.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { toLifecycle, type LifecycleInput } from "./lifecycle.ts";
import { metadataForCreate, type MetadataInput } from "../../http/metadata.ts";
import { toNamedMetadata } from "../free-object-name.ts";

/** A stopped App with a GUID and an object name that is free in the namespace. @throws CFError 422 for an unknown stack or buildpack */
export function toApp(
  cache: ClusterCache,
  namespace: string,
  wanted: { name: string; lifecycle?: LifecycleInput; metadata?: MetadataInput },
): Draft {
  const { name, lifecycle, metadata } = wanted;
  return {
    metadata: toNamedMetadata(cache, App, { namespace, name, fallback: "app", ...metadataForCreate(metadata) }),
    spec: { name, lifecycle: toLifecycle(cache, lifecycle) },
  };
}
