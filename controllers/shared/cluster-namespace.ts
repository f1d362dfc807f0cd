// The namespace of a space as other clusters have it: the same name and labels, with the marks of the Space.
import { LABELS } from "../../crds/labels.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { keyOf } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { RemoteMarkers } from "../../kube/controller/controller.ts";
import { findSpaceOfNamespace } from "./quotas.ts";

/** Labels that others select by. Those of ownership on this cluster mean nothing elsewhere. */
const COPIED_LABELS = [LABELS.space, LABELS.org, LABELS.spaceName, LABELS.orgName, LABELS.namespaceKind];

/** Undefined while the space's own namespace is not known. */
export function planClusterNamespace(
  read: Reader,
  name: string,
  markers: RemoteMarkers | undefined,
): Draft | undefined {
  const metadata = read.find(Namespace, { name })?.metadata;
  const space = findSpaceOfNamespace(read, name);
  const guid = metadata?.labels?.[LABELS.space];
  if (!metadata || !space || !markers || guid === undefined) return undefined;
  const labels = COPIED_LABELS.flatMap((key) => {
    const value = metadata.labels?.[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    apiVersion: apiVersionOf(Namespace),
    kind: Namespace.kind,
    metadata: {
      name,
      labels: { ...Object.fromEntries(labels), [markers.hubLabel]: markers.hub, [markers.ownerLabel]: guid },
      annotations: { [markers.ownerAnnotation]: `${Space.kind} ${keyOf(space.metadata)}` },
    },
  };
}
