// The space and org that a namespace belongs to, by its labels, which the space controller maintains.
import { Claim } from "../../crds/claim/claim.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { NotReady } from "../../kube/controller/controller.ts";
import type { ObjectMeta } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";

interface NamedGUID {
  guid: string;
  name: string;
}

export interface Tenancy {
  space: NamedGUID;
  org: NamedGUID;
  /** The namespace of the org, which contains its Spaces and private Domains. */
  orgNamespace: string;
  /** Object name of the org. */
  orgObjectName: string;
}

/** Kinds that findTenancy and findEffectiveDomain read. */
export const TENANCY_KINDS = [Namespace, Org, Space, Domain, Claim];

/** The tenancy of a space's namespace; undefined for any other namespace. */
export function findTenancy(read: Reader, namespace: string): Tenancy | undefined {
  const metadata = read.find(Namespace, { name: namespace })?.metadata;
  const owner = metadata?.labels?.[LABELS.ownerUid];
  const space = owner === undefined ? undefined : read.byUid(Space, owner);
  const org = space && findOrgOfNamespace(read, space.metadata.namespace ?? "");
  return metadata && space && org ? toTenancy(metadata, space, org) : undefined;
}

function toTenancy({ labels = {}, annotations = {} }: ObjectMeta, space: Space, org: Org): Tenancy | undefined {
  const guids = { space: labels[LABELS.space], org: labels[LABELS.org] };
  if (!guids.space || !guids.org) return undefined;
  return {
    space: { guid: guids.space, name: annotations[ANNOTATIONS.spaceName] ?? space.metadata.name },
    org: { guid: guids.org, name: annotations[ANNOTATIONS.orgName] ?? org.metadata.name },
    orgNamespace: space.metadata.namespace ?? "",
    orgObjectName: org.metadata.name,
  };
}

/** @throws NotReady("NoSpace") in a namespace that no Space owns */
export function getTenancy(read: Reader, namespace: string): Tenancy {
  const tenancy = findTenancy(read, namespace);
  if (!tenancy) throw new NotReady("NoSpace", `namespace ${namespace} belongs to no Space`);
  return tenancy;
}

/** The Org that owns this namespace. */
export function findOrgOfNamespace(read: Reader, namespace: string): Org | undefined {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  return uid === undefined ? undefined : read.byUid(Org, uid);
}

/** The labels of everything generated for an app, and the names as annotations. */
export function tenancyLabels(tenancy: Tenancy): {
  labels: Record<string, string>;
  annotations: Record<string, string>;
} {
  return {
    labels: { [LABELS.space]: tenancy.space.guid, [LABELS.org]: tenancy.org.guid },
    annotations: { [ANNOTATIONS.spaceName]: tenancy.space.name, [ANNOTATIONS.orgName]: tenancy.org.name },
  };
}
