// Updates the metadata of an object and nothing else: the PATCH of packages, builds, droplets and domains.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import { toMetadataPatch, type MetadataInput } from "../http/metadata.ts";

/** The object after the update. @throws CFError as toMetadataPatch */
export function patchMetadata<T extends KubeObject>(
  session: Session,
  ref: ResourceRef<T>,
  object: T,
  metadata: MetadataInput | undefined,
): Promise<T> {
  return session.patch(ref, object, { type: "merge", body: { metadata: toMetadataPatch(metadata, object) } });
}
