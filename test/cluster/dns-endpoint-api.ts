// The kind DNSEndpoint of external-dns, for tests that need the kind and not its controller.
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { eventually } from "../eventually.ts";

export const DNSEndpoint = {
  group: "externaldns.k8s.io",
  version: "v1alpha1",
  kind: "DNSEndpoint",
  plural: "dnsendpoints",
  namespaced: true,
};

/** As the chart of external-dns has it, without descriptions. */
const ENDPOINT = {
  type: "object",
  properties: {
    dnsName: { type: "string" },
    recordType: { type: "string" },
    recordTTL: { type: "integer", format: "int64" },
    targets: { type: "array", items: { type: "string" } },
  },
};
const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "dnsendpoints.externaldns.k8s.io",
    annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/external-dns/pull/2007" },
  },
  spec: {
    group: DNSEndpoint.group,
    scope: "Namespaced",
    names: { kind: DNSEndpoint.kind, plural: DNSEndpoint.plural, singular: "dnsendpoint", listKind: "DNSEndpointList" },
    versions: [
      {
        name: DNSEndpoint.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { endpoints: { type: "array", items: ENDPOINT } } },
              status: { type: "object", properties: { observedGeneration: { type: "integer", format: "int64" } } },
            },
          },
        },
      },
    ],
  },
};

/** Applies the definition, and waits until the kind is served. */
export async function applyDNSEndpointAPI(client: KubeClient): Promise<void> {
  await client.apply(CustomResourceDefinition, CRD, { fieldManager: "test", force: true });
  await eventually(() => client.raw("GET", "/apis/externaldns.k8s.io/v1alpha1/dnsendpoints?limit=1"));
}
