// Common built-in kinds, typed from the published schemas. At run time each is only a ResourceRef.
import type {
  ValidatingAdmissionPolicy as PolicyType,
  ValidatingAdmissionPolicyBinding as PolicyBindingType,
  ValidatingWebhookConfiguration as ValidatingWebhookConfigurationType,
} from "kubernetes-types/admissionregistration/v1.js";
import type { CustomResourceDefinition as CrdType } from "kubernetes-types/apiextensions/v1.js";
import type {
  Deployment as DeploymentType,
  ReplicaSet as ReplicaSetType,
  StatefulSet as StatefulSetType,
} from "kubernetes-types/apps/v1.js";
import type {
  TokenReview as TokenReviewType,
  SelfSubjectReview as SelfSubjectReviewType,
} from "kubernetes-types/authentication/v1.js";
import type {
  SelfSubjectAccessReview as SelfSubjectAccessReviewType,
  SelfSubjectRulesReview as SelfSubjectRulesReviewType,
  SubjectAccessReview as SubjectAccessReviewType,
} from "kubernetes-types/authorization/v1.js";
import type { Job as JobType } from "kubernetes-types/batch/v1.js";
import type { Lease as LeaseType } from "kubernetes-types/coordination/v1.js";
import type {
  ConfigMap as ConfigMapType,
  Event as EventType,
  Namespace as NamespaceType,
  PersistentVolumeClaim as PersistentVolumeClaimType,
  Pod as PodType,
  Secret as SecretType,
  Service as ServiceType,
  ServiceAccount as ServiceAccountType,
} from "kubernetes-types/core/v1.js";
import type { EndpointSlice as EndpointSliceType } from "kubernetes-types/discovery/v1.js";
import type {
  Ingress as IngressType,
  IngressClass as IngressClassType,
  NetworkPolicy as NetworkPolicyType,
} from "kubernetes-types/networking/v1.js";
import type { PodDisruptionBudget as PdbType } from "kubernetes-types/policy/v1.js";
import type {
  ClusterRole as ClusterRoleType,
  ClusterRoleBinding as ClusterRoleBindingType,
  Role as RoleType,
  RoleBinding as RoleBindingType,
} from "kubernetes-types/rbac/v1.js";
import type { KubeObject } from "./object.ts";
import type { ResourceRef } from "./resource-ref.ts";

/** A published type with our metadata (name required), assignable to KubeObject. */
export type Builtin<T> = KubeObject & Omit<T, "apiVersion" | "kind" | "metadata">;

function builtin<T>(apiVersion: string, kind: string, plural: string, namespaced = true): ResourceRef<Builtin<T>> {
  const [first = "", second] = apiVersion.split("/");
  return second === undefined
    ? { group: "", version: first, kind, plural, namespaced }
    : { group: first, version: second, kind, plural, namespaced };
}

export const Namespace = builtin<NamespaceType>("v1", "Namespace", "namespaces", false);
export const Secret = builtin<SecretType>("v1", "Secret", "secrets");
export const ConfigMap = builtin<ConfigMapType>("v1", "ConfigMap", "configmaps");
export const PersistentVolumeClaim = builtin<PersistentVolumeClaimType>(
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const Service = builtin<ServiceType>("v1", "Service", "services");
export const ServiceAccount = builtin<ServiceAccountType>("v1", "ServiceAccount", "serviceaccounts");
export const Pod = builtin<PodType>("v1", "Pod", "pods");
export const Event = builtin<EventType>("v1", "Event", "events");
export const Lease = builtin<LeaseType>("coordination.k8s.io/v1", "Lease", "leases");
export type Lease = Builtin<LeaseType>;
export const Role = builtin<RoleType>("rbac.authorization.k8s.io/v1", "Role", "roles");
export const ClusterRole = builtin<ClusterRoleType>(
  "rbac.authorization.k8s.io/v1",
  "ClusterRole",
  "clusterroles",
  false,
);
export const RoleBinding = builtin<RoleBindingType>("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings");
export const ClusterRoleBinding = builtin<ClusterRoleBindingType>(
  "rbac.authorization.k8s.io/v1",
  "ClusterRoleBinding",
  "clusterrolebindings",
  false,
);
export const Deployment = builtin<DeploymentType>("apps/v1", "Deployment", "deployments");
export const ReplicaSet = builtin<ReplicaSetType>("apps/v1", "ReplicaSet", "replicasets");
export const StatefulSet = builtin<StatefulSetType>("apps/v1", "StatefulSet", "statefulsets");
export const Job = builtin<JobType>("batch/v1", "Job", "jobs");
export type Job = Builtin<JobType>;
export const PodDisruptionBudget = builtin<PdbType>("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");
export const EndpointSlice = builtin<EndpointSliceType>("discovery.k8s.io/v1", "EndpointSlice", "endpointslices");
export const Ingress = builtin<IngressType>("networking.k8s.io/v1", "Ingress", "ingresses");
export const IngressClass = builtin<IngressClassType>("networking.k8s.io/v1", "IngressClass", "ingressclasses", false);
export const NetworkPolicy = builtin<NetworkPolicyType>("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies");
export const CustomResourceDefinition = builtin<CrdType>(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  false,
);
export const ValidatingAdmissionPolicy = builtin<PolicyType>(
  "admissionregistration.k8s.io/v1",
  "ValidatingAdmissionPolicy",
  "validatingadmissionpolicies",
  false,
);
export const ValidatingAdmissionPolicyBinding = builtin<PolicyBindingType>(
  "admissionregistration.k8s.io/v1",
  "ValidatingAdmissionPolicyBinding",
  "validatingadmissionpolicybindings",
  false,
);
export const ValidatingWebhookConfiguration = builtin<ValidatingWebhookConfigurationType>(
  "admissionregistration.k8s.io/v1",
  "ValidatingWebhookConfiguration",
  "validatingwebhookconfigurations",
  false,
);

/** Reviews are never stored: use them with `client.review`. */
export const TokenReview = builtin<TokenReviewType>("authentication.k8s.io/v1", "TokenReview", "tokenreviews", false);
export const SelfSubjectReview = builtin<SelfSubjectReviewType>(
  "authentication.k8s.io/v1",
  "SelfSubjectReview",
  "selfsubjectreviews",
  false,
);
export const SubjectAccessReview = builtin<SubjectAccessReviewType>(
  "authorization.k8s.io/v1",
  "SubjectAccessReview",
  "subjectaccessreviews",
  false,
);
export const SelfSubjectAccessReview = builtin<SelfSubjectAccessReviewType>(
  "authorization.k8s.io/v1",
  "SelfSubjectAccessReview",
  "selfsubjectaccessreviews",
  false,
);
export const SelfSubjectRulesReview = builtin<SelfSubjectRulesReviewType>(
  "authorization.k8s.io/v1",
  "SelfSubjectRulesReview",
  "selfsubjectrulesreviews",
  false,
);
