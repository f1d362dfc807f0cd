// The facts that the checks of `cup doctor --cluster` judge, each read once. read-facts.ts reads them.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Claimant } from "../../crds/claim/rules.ts";
import type { RegistryOutcome } from "../../platform/probe/outcome.ts";
import type { Replica } from "../../crds/replica/replica.ts";
import type {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  IngressClass,
  Job,
  Namespace,
  Pod,
  Role,
  RoleBinding,
} from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";

/** An object of our kinds, as far as the checks need it. */
export interface ObjectRow {
  kind: string;
  /** As kubectl takes it: `lrps.workloads.cupola.dev`. */
  resource: string;
  namespace?: string;
  name: string;
  uid: string;
  createdAt: number;
  deletedAt?: number;
  finalizers: readonly string[];
  ready?: { status: string; reason: string; message: string; since: number };
  /** Label of the generated object: the uid of the object that it was made for. */
  ownerUid?: string;
  /** Set for a Claim. */
  claim?: { claimant: Claimant; since: number };
  /** Set for an LRP. */
  lrp?: { class: string; rendering: string };
  /** The namespace of a Space. */
  spaceNamespace?: string;
}

export interface LeaseRow {
  name: string;
  holder: string;
  /** Its holder did not renew it between two reads that were further apart than its duration. */
  isLate: boolean;
}

export interface CertificateRow {
  /** The Secret, as `namespace/name`. */
  secret: string;
  /** Undefined where the Secret has no certificate that can be read. */
  endsAt: number | undefined;
}

export interface Handshake {
  host: string;
  /** Why a client would refuse the certificate; undefined when it would not. */
  problem: string | undefined;
  endsAt: number;
}

/** A name, where it leads by this machine's resolver, and where it should. */
export interface NameRow {
  name: string;
  leadsTo: readonly string[];
  /** Undefined where the cluster does not say: then the name has to lead somewhere. */
  expected: readonly string[] | undefined;
}

export interface GatewayRow {
  namespace: string;
  name: string;
  /** Why it does not serve; undefined when it is Programmed. */
  problem: string | undefined;
}

export interface Facts {
  /** By kube-apiserver's clock, in milliseconds. */
  now: number;
  isBeforeInstallation: boolean;
  /** The version of this `cup`. */
  cupVersion: string;
  kubernetes: { gitVersion: string; major: number; minor: number };
  /** Milliseconds by which kube-apiserver's clock is ahead of this machine's. */
  clockAheadMs: number;
  /** Resources of admissionregistration.k8s.io/v1. */
  admissionResources: readonly string[];
  /** Rights that the caller lacks for an installation, as `create clusterroles.rbac.authorization.k8s.io`. */
  missingRights: readonly string[];
  ingressClasses: readonly ObjectOf<typeof IngressClass>[];
  classes: readonly BackendClass[];
  gateways: readonly GatewayRow[];
  /** The API metrics.k8s.io: why it is not available; undefined when it is. */
  metricsProblem: string | undefined;
  definitions: readonly ObjectOf<typeof CustomResourceDefinition>[];
  clusterRoles: readonly ObjectOf<typeof ClusterRole>[];
  clusterRoleBindings: readonly ObjectOf<typeof ClusterRoleBinding>[];
  policies: readonly KubeObject[];
  policyBindings: readonly KubeObject[];
  /** Those of the chart, as all that follows up to the Leases. */
  deployments: readonly ObjectOf<typeof Deployment>[];
  pods: readonly ObjectOf<typeof Pod>[];
  jobs: readonly Job[];
  roles: readonly ObjectOf<typeof Role>[];
  roleBindings: readonly ObjectOf<typeof RoleBinding>[];
  replicas: readonly Replica[];
  leases: readonly LeaseRow[];
  /** Undefined without a registered webhook. */
  webhook: { isTrusted: boolean; isAnswering: boolean } | undefined;
  certificates: readonly CertificateRow[];
  /** Undefined where the API has no public https address. */
  handshake: Handshake | undefined;
  names: readonly NameRow[];
  /** Namespaces of orgs and spaces. */
  namespaces: readonly ObjectOf<typeof Namespace>[];
  /** Namespaces with the Secret of the registry. */
  pullSecrets: readonly string[];
  /** Pods of apps behind the gate of instance indexes, with their creation. */
  gatedPods: readonly { namespace: string; name: string; createdAt: number }[];
  objects: readonly ObjectRow[];
  /** The command may start pods and try what they can do. */
  isProbing: boolean;
  /** By a pod with the platform's login; undefined where nothing was tried. */
  registryProbe: (RegistryOutcome & { registryName: string; builderImageName?: string }) | undefined;
  /** Undefined where nothing was tried. */
  networkProbe: { isEnforced: boolean } | undefined;
  /** Memory in use by container of the chart's pods, as `pod/container`, in bytes. */
  memoryInUse: ReadonlyMap<string, number>;
}

/** Each fact by a call. @throws CouldNotLook when it could not be read */
export type Readings = { readonly [Fact in keyof Facts]: () => Facts[Fact] };
