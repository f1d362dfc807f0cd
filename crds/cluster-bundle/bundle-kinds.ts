// The kinds that a ClusterBundle may have: base set-up of namespaces. None of them runs programs, holds secrets or gives rights; monitors say which credentials Prometheus sends.
import { ConfigMap, NetworkPolicy } from "../../kube/api/builtin.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";

const LimitRange: ResourceRef = {
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  namespaced: true,
};
const ResourceQuota: ResourceRef = {
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
};

/** A kind of the Prometheus Operator. */
function monitoringKind(kind: string, plural: string): ResourceRef {
  return { group: "monitoring.coreos.com", version: "v1", kind, plural, namespaced: true };
}

export const BUNDLE_KINDS: readonly ResourceRef[] = [
  ConfigMap,
  LimitRange,
  ResourceQuota,
  NetworkPolicy,
  monitoringKind("PodMonitor", "podmonitors"),
  monitoringKind("ServiceMonitor", "servicemonitors"),
  monitoringKind("PrometheusRule", "prometheusrules"),
];

export function findBundleKind(apiVersion: unknown, kind: unknown): ResourceRef | undefined {
  return BUNDLE_KINDS.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
}
