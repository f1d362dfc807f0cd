// Parts that most presentations share.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { metadataOf } from "./metadata.ts";
import { createdAt, updatedAt } from "../cache/object-times.ts";

/** `guid`, `created_at`, `updated_at`. */
export function presentIdentity(
  cache: ClusterCache,
  ref: ResourceRef,
  object: KubeObject,
): { guid: string; created_at: string; updated_at: string } {
  return { guid: cache.guid(ref, object), created_at: createdAt(object), updated_at: updatedAt(object) };
}

/** `metadata` with the labels and annotations that CF shows. */
export function presentMetadata(object: KubeObject): {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
} {
  return { metadata: metadataOf(object) };
}

/** `{ data: { guid } }`, or `{ data: null }`. */
export function toOneRelationship(guid: string | undefined): { data: { guid: string } | null } {
  return { data: guid === undefined ? null : { guid } };
}

/** `{ data: [{ guid }] }`. */
export function toManyRelationship(guids: readonly string[]): { data: { guid: string }[] } {
  return { data: guids.map((guid) => ({ guid })) };
}

/** A link; GET needs no method. */
export function link(href: string, method?: "POST" | "PATCH" | "DELETE" | "PUT"): { href: string; method?: string } {
  return method ? { href, method } : { href };
}
