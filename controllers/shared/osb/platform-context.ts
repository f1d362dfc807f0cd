// The OSB context: the org, the space and the instance of a request, with the annotations that people give them for brokers.
import { isReservedKey, LABELS } from "../../../crds/labels.ts";
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { ObjectMeta } from "../../../kube/api/object.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { getTenancy, type Tenancy } from "../tenancy.ts";

type Annotations = Record<string, string>;

/** An org and a space as brokers are told of them. */
export interface ContextPlace {
  tenancy: Tenancy;
  orgAnnotations: Annotations;
  spaceAnnotations: Annotations;
}

/** @throws NotReady("NoSpace") in a namespace that no Space owns */
export function getContextPlace(read: Reader, namespace: string): ContextPlace {
  const tenancy = getTenancy(read, namespace);
  const owner = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  return {
    tenancy,
    orgAnnotations: toBrokerAnnotations(read.find(Org, { name: tenancy.orgObjectName })?.metadata),
    spaceAnnotations: toBrokerAnnotations(owner === undefined ? undefined : read.byUid(Space, owner)?.metadata),
  };
}

/** Characters of the annotations of one object. Brokers bound what they read. */
const MAX_ANNOTATIONS = 16 * 1024;

/** As in CF, those with a prefix. None where they are too many. Pure. */
export function toBrokerAnnotations(metadata: Pick<ObjectMeta, "annotations"> | undefined): Annotations {
  const shown = Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.includes("/") && !isReservedKey(key));
  const size = shown.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return size > MAX_ANNOTATIONS ? {} : Object.fromEntries(shown);
}

/** Pure. */
export function toContext(
  { tenancy: { org, space }, orgAnnotations, spaceAnnotations }: ContextPlace,
  instance?: { name: string; annotations: Annotations },
): object {
  return {
    platform: "cloudfoundry",
    organization_guid: org.guid,
    organization_name: org.name,
    organization_annotations: orgAnnotations,
    space_guid: space.guid,
    space_name: space.name,
    space_annotations: spaceAnnotations,
    ...(instance && { instance_name: instance.name, instance_annotations: instance.annotations }),
  };
}
