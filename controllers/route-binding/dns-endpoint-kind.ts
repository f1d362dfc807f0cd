// DNSEndpoint of external-dns (externaldns.k8s.io): DNS records that it writes at a provider of DNS.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

export interface DNSRecord {
  dnsName: string;
  recordType: "A" | "AAAA";
  /** Seconds. */
  recordTTL: number;
  /** Addresses. external-dns puts its own default in place of an empty list. */
  targets: string[];
}

export interface DNSEndpointObject extends KubeObject {
  spec: { endpoints: DNSRecord[] };
}

export const DNSEndpoint: ResourceRef<DNSEndpointObject> = {
  group: "externaldns.k8s.io",
  version: "v1alpha1",
  kind: "DNSEndpoint",
  plural: "dnsendpoints",
  namespaced: true,
};
