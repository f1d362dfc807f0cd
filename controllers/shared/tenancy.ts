// Where a namespace stands: which space and org it belongs to, as its labels say. Kept by the space controller.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName, toClaimState, type ClaimState } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { findDomainByReference, type DomainReferrer } from "../../crds/domain/resolve-domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
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
  /** The namespace of the org, where its spaces and private domains are. */
  orgNamespace: string;
  /** Object name of the org. */
  orgObjectName: string;
}

/** Kinds that findPlace and findDomain read. */
export const TENANCY_KINDS = [Namespace, Org, Space, Domain, Claim];

const DOMAIN_OBJECT_NAME_INDEX = "domain/object-name";
/** Name of the index of Domains by what is claimed for their own name. */
export const DOMAIN_NAME_INDEX = "domain/name";
/** By which Domains are found. The domain controller keeps them. */
export const DOMAIN_INDEXES = {
  [DOMAIN_OBJECT_NAME_INDEX]: (domain: Domain): string[] => [domain.metadata.name],
  [DOMAIN_NAME_INDEX]: (domain: Domain): string[] => [domainName(domain).claimed],
};

/** The place of a space's namespace; undefined for any other namespace. */
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

/** The Org whose namespace this is. */
export function findOrgOfNamespace(read: Reader, namespace: string): Org | undefined {
  const uid = read.find(Namespace, { name: namespace })?.metadata.labels?.[LABELS.ownerUid];
  return uid === undefined ? undefined : read.byUid(Org, uid);
}

/** The Domain that a route means in a place, unless another one has its name. @throws NotPermitted when it may be one that is out of sight */
export function findEffectiveDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const domain = findReferencedDomain(read, route, tenancy);
  return domain && findDomainClaimState(read, domain) !== "lost" ? domain : undefined;
}

/** As findDomain, but also one that is not in force. Whoever reads Domains elsewhere than beside the domain controller needs `DOMAIN_INDEXES`. */
export function findReferencedDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const found = findDomainByReference(route, {
    orgObjectName: tenancy.orgObjectName,
    orgNamespace: tenancy.orgNamespace,
    find: (key) => read.find(Domain, key),
    listByName: (name) => read.byIndex(Domain, DOMAIN_OBJECT_NAME_INDEX, name),
    isNameTaken: (domain) => findDomainClaimState(read, domain) === "lost",
  });
  // Absence is believed only where all is in sight.
  if (!found) read.list(Domain);
  return found;
}

/** How a Domain stands with its name: only what holds it is in force. */
export function findDomainClaimState(read: Reader, domain: Domain): ClaimState {
  return toClaimState(
    read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(domainName(domain)) }),
    Domain.kind,
    domain,
  );
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
