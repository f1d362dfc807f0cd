// Builds the App for a create body or a manifest entry.
import { App } from "../../../crds/app/app.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { toLifecycle, type LifecycleInput } from "./lifecycle.ts";
import { toNewMetadata, type MetadataInput } from "../metadata/metadata.ts";
import { freeObjectName } from "../free-object-name.ts";

/** A stopped App with a GUID and an object name that is free in the namespace. @throws CFError 422 for an unknown stack or buildpack */
export function toApp(
  cache: ClusterCache,
  namespace: string,
  wanted: { name: string; lifecycle?: LifecycleInput; metadata?: MetadataInput },
): Draft {
  const { labels, annotations } = toNewMetadata(wanted.metadata);
  const name = freeObjectName(cache, App, { namespace, name: wanted.name, fallback: "app" });
  return {
    metadata: { name, namespace, labels: { ...labels, [LABELS.guid]: newGUID() }, annotations },
    spec: { name: wanted.name, lifecycle: toLifecycle(cache, wanted.lifecycle) },
  };
}
