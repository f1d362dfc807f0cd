// The kinds that a ClusterBundle may have: base set-up of namespaces. None of them runs programs, holds secrets or gives rights. ServiceMonitor and PodMonitor are not among them: they say which credentials Prometheus sends, and where to.
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

const PrometheusRule: ResourceRef = {
  group: "monitoring.coreos.com",
  version: "v1",
  kind: "PrometheusRule",
  plural: "prometheusrules",
  namespaced: true,
};

export const BUNDLE_KINDS: readonly ResourceRef[] = [
  ConfigMap,
  LimitRange,
  ResourceQuota,
  NetworkPolicy,
  PrometheusRule,
];

export function findBundleKind(apiVersion: unknown, kind: unknown): ResourceRef | undefined {
  return BUNDLE_KINDS.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
}
