// Admission policies that keep the platform's own identities within what is the platform's, whatever their roles let them do (docs/security.md).
import { ROUTE_SERVICE_PORT, ROUTE_SERVICE_PROXY } from "./route-service-proxy.ts";
import { forbid, ONLY_PLATFORM, type AdmissionPolicy, type Validation } from "./admission-policy.ts";
import { FACTS_CONFIG } from "./cluster/spoke-facts.ts";
import { CONSTRAINTS_GROUP, GROUP, SYSTEM_NAMESPACE } from "./groups.ts";
import { INTERNAL_LABELS, OBSERVE_LABELS } from "./labels.ts";
import { REVOKES_AGENT } from "./work/policies.ts";
import { IS_MIRRORED_KEY } from "./space/namespace-labels.ts";

const WRITES = ["CREATE", "UPDATE", "DELETE"] as const;

/** Kinds of Kubernetes and its add-ons, by group, that the platform writes in namespaces of its own and nowhere else. */
const PLACED_KINDS: Readonly<Record<string, readonly string[]>> = {
  "": [
    "pods",
    "pods/ephemeralcontainers",
    "services",
    "serviceaccounts",
    "configmaps",
    "endpoints",
    "persistentvolumeclaims",
    "podtemplates",
    "replicationcontrollers",
  ],
  apps: ["deployments", "statefulsets", "replicasets", "daemonsets", "deployments/scale", "statefulsets/scale"],
  batch: ["jobs", "cronjobs"],
  policy: ["poddisruptionbudgets"],
  "networking.k8s.io": ["ingresses", "networkpolicies"],
  "gateway.networking.k8s.io": ["httproutes", "tcproutes", "referencegrants"],
  "discovery.k8s.io": ["endpointslices"],
  "externaldns.k8s.io": ["dnsendpoints"],
  "coordination.k8s.io": ["leases"],
  "rbac.authorization.k8s.io": ["roles", "rolebindings"],
  "kpack.io": ["builds"],
};

/** Kinds of which the platform has objects of its own in the system namespace, too: its Leases, and the readers of security groups. */
const SYSTEM_KINDS = ["leases", "roles", "rolebindings"];

/** `namespaces`: which namespaces are the platform's to make and change. `elsewhere`: conditions of writes that must be in these. */
export function platformPolicies(
  namespaces = namespaceOwnerPolicy(),
  elsewhere: NonNullable<AdmissionPolicy["matchConditions"]> = [],
): AdmissionPolicy[] {
  return [placePolicy(elsewhere), namespaces, podSpecPolicy(), servicePolicy(), endpointPolicy(), kindPolicy()];
}

/** A CEL expression for a map or list of metadata, empty where the object has none. */
export function metadataOf(object: string, field: "labels" | "annotations" | "finalizers" | "ownerReferences"): string {
  const empty = field === "labels" || field === "annotations" ? "{}" : "[]";
  return `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : ${empty})`;
}

/**
 * The selector leaves out the platform's namespaces, so that writes there cost nothing. What is left over in a namespace that was given back may be deleted:
 * the platform cannot put its label on anything there.
 */
function placePolicy(elsewhere: NonNullable<AdmissionPolicy["matchConditions"]>): AdmissionPolicy {
  return {
    name: "platform-places.cupola.dev",
    resources: Object.entries(PLACED_KINDS).flatMap(([group, plurals]) => plurals.map((plural) => ({ group, plural }))),
    operations: WRITES,
    namespaceLabel: { key: INTERNAL_LABELS.namespaceKind, absent: true },
    matchConditions: [...elsewhere, ONLY_PLATFORM],
    validations: [
      forbid(
        `(request.namespace == '${SYSTEM_NAMESPACE}' && request.resource.resource in [${quoted(SYSTEM_KINDS)}]) || (request.namespace == '${SYSTEM_NAMESPACE}' && request.resource.resource == 'configmaps' && object != null && object.metadata.name == '${FACTS_CONFIG}') || (object == null && '${OBSERVE_LABELS.managedBy}' in ${metadataOf("oldObject", "labels")}) || ${REVOKES_AGENT}`,
        "the platform writes in its own namespaces only: those of orgs and spaces",
      ),
    ],
  };
}

/** The kinds that PolicyTemplates make are the only ones that the platform itself makes, changes or deletes. */
function kindPolicy(): AdmissionPolicy {
  const isOurs = (object: string): string => `(${object} == null || ${object}.spec.group == '${CONSTRAINTS_GROUP}')`;
  return {
    name: "platform-kinds.cupola.dev",
    resources: [{ group: "apiextensions.k8s.io", plural: "customresourcedefinitions" }],
    operations: WRITES,
    matchConditions: [ONLY_PLATFORM],
    validations: [
      forbid(
        `${isOurs("object")} && ${isOurs("oldObject")}`,
        `the platform writes CustomResourceDefinitions of ${CONSTRAINTS_GROUP} only`,
      ),
    ],
  };
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}

const CONSENT = INTERNAL_LABELS.adoptableBy;

/** Names that belong to Kubernetes and the platform: no Space adopts these (namespace-name.ts). */
export const RESERVED_NAMESPACE = "^(default|(kube|cupola)(-.*)?)$";

/**
 * The label with the owner's uid says whose a namespace is; only the platform and admins can set it (namespace-labels.cupola.dev). Webhooks of others
 * (Rancher, Kyverno, Istio) add labels to the platform's request for a new namespace, so it may hold foreign labels.
 */
function namespaceOwnerPolicy(): AdmissionPolicy {
  const valueOf = (object: string, key: string): string =>
    `(${object} != null && '${key}' in ${metadataOf(object, "labels")} ? ${object}.metadata.labels['${key}'] : '')`;
  const { ownerUid } = OBSERVE_LABELS;
  return {
    name: "platform-namespaces.cupola.dev",
    resources: ["namespaces", "namespaces/status", "namespaces/finalize"].map((plural) => ({ group: "", plural })),
    operations: WRITES,
    matchConditions: [ONLY_PLATFORM],
    variables: [
      { name: "owner", expression: valueOf("object", ownerUid) },
      { name: "ownerBefore", expression: valueOf("oldObject", ownerUid) },
      { name: "consent", expression: valueOf("object", CONSENT) },
      { name: "consentBefore", expression: valueOf("oldObject", CONSENT) },
    ],
    validations: namespaceValidations(),
  };
}

function namespaceValidations(): Validation[] {
  const isCreate = "oldObject == null";
  const isDelete = "object == null";
  const isAdoption = `variables.consentBefore != '' && variables.owner != '' && !oldObject.metadata.name.matches('${RESERVED_NAMESPACE}')`;
  const staysOurs = "(variables.owner == '' || variables.owner == variables.ownerBefore)";
  return [
    forbid(
      `!(${isCreate}) || (variables.owner != '' && '${INTERNAL_LABELS.namespaceKind}' in ${metadataOf("object", "labels")} && variables.consent == '' && ${metadataOf("object", "labels")}.all(key, !key.startsWith('pod-security.kubernetes.io/')))`,
      "a namespace that the platform makes has an owner, no consent to adoption, and no labels of Pod Security",
    ),
    forbid(
      `${isCreate} || ${isDelete} || (variables.ownerBefore != '' ? ${staysOurs} : ${isAdoption})`,
      `the platform changes its own namespaces only: those of orgs and spaces, and such as consent to adoption by the label ${CONSENT}`,
    ),
    forbid(
      `${isCreate} || ${isDelete} || (variables.consent == variables.consentBefore && ${foreignKeysKept("labels")} && ${foreignKeysKept("annotations")} && ${["finalizers", "ownerReferences"].map((field) => `${metadataOf("object", field as "finalizers")} == ${metadataOf("oldObject", field as "finalizers")}`).join(" && ")})`,
      `of a namespace the platform changes only labels and annotations of ${GROUP}, and never the consent to adoption`,
    ),
    forbid(
      `!(${isDelete}) || variables.ownerBefore != ''`,
      "the platform deletes its own namespaces only: those of orgs and spaces",
    ),
    forbid(
      `!(${isDelete}) || variables.consentBefore == ''`,
      `the platform deletes no namespace with the label ${CONSENT}, which may hold what others put there; if it is not needed, remove the label`,
    ),
  ];
}

/** Are the keys of others the same before and after? */
export function foreignKeysKept(field: "labels" | "annotations"): string {
  const [now, before] = [metadataOf("object", field), metadataOf("oldObject", field)];
  const ours = `(${field === "labels" ? `${IS_MIRRORED_KEY} || ` : ""}key.startsWith('${GROUP}/'))`;
  return `${now}.all(key, ${ours} || (key in ${before} && ${now}[key] == ${before}[key])) && ${before}.all(key, ${ours} || key in ${now})`;
}

/** All pods that the platform makes, itself or by a controller, are of Pod Security `restricted`, and have no token of an account. */
function podSpecPolicy(): AdmissionPolicy {
  const lists = ["containers", "initContainers"].map(
    (list) => `(has(variables.pod.${list}) ? variables.pod.${list} : [])`,
  );
  return {
    name: "platform-pod-specs.cupola.dev",
    resources: [
      ...["pods", "replicationcontrollers"].map((plural) => ({ group: "", plural })),
      ...["deployments", "statefulsets", "replicasets", "daemonsets"].map((plural) => ({ group: "apps", plural })),
      { group: "batch", plural: "jobs" },
    ],
    operations: ["CREATE", "UPDATE"],
    // The spec of a pod does not change but for what platform-pods.cupola.dev lets through, and every start waits for one such patch.
    matchConditions: [
      {
        name: "the-platform-makes-pods",
        expression: `${ONLY_PLATFORM.expression} && (request.operation == 'CREATE' || request.resource.resource != 'pods')`,
      },
    ],
    variables: [
      { name: "pod", expression: "has(object.spec.template) ? object.spec.template.spec : object.spec" },
      { name: "containers", expression: lists.join(" + ") },
      { name: "context", expression: "has(variables.pod.securityContext) ? variables.pod.securityContext : {}" },
      {
        name: "contexts",
        expression: "variables.containers.map(one, has(one.securityContext) ? one.securityContext : {})",
      },
    ],
    validations: podSpecValidations(),
  };
}

function podSpecValidations(): Validation[] {
  return [
    forbid(
      `${["hostNetwork", "hostPID", "hostIPC"].map((field) => `(!has(variables.pod.${field}) || !variables.pod.${field})`).join(" && ")} && variables.containers.all(one, !has(one.ports) || one.ports.all(port, !has(port.hostPort) || port.hostPort == 0)) && (!has(variables.pod.nodeName) || variables.pod.nodeName == '') && (!has(variables.pod.priorityClassName) || !variables.pod.priorityClassName.startsWith('system-'))`,
      "pods of the platform use nothing of their node, choose none, and have no priority of the system's",
    ),
    forbid(
      "!has(variables.pod.volumes) || variables.pod.volumes.all(one, has(one.emptyDir) || has(one.secret) || has(one.configMap) || has(one.downwardAPI) || has(one.image) || has(one.persistentVolumeClaim))",
      "pods of the platform have volumes of these kinds only: emptyDir, secret, configMap, downwardAPI, image, persistentVolumeClaim",
    ),
    forbid(
      "has(variables.pod.automountServiceAccountToken) && !variables.pod.automountServiceAccountToken",
      "pods of the platform have no token of a service account",
    ),
    forbid(isRestricted(), "pods of the platform are of Pod Security restricted"),
  ];
}

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted, as the platform's pods fulfil it: user and seccomp for the whole pod. */
function isRestricted(): string {
  const unset = (object: string, fields: readonly string[]): string =>
    fields.map((field) => `!has(${object}.${field})`).join(" && ");
  const runsAsUser = (object: string): string => `(!has(${object}.runAsUser) || ${object}.runAsUser != 0)`;
  return [
    "has(variables.context.runAsNonRoot) && variables.context.runAsNonRoot",
    runsAsUser("variables.context"),
    "has(variables.context.seccompProfile) && variables.context.seccompProfile.type == 'RuntimeDefault'",
    unset("variables.context", ["seLinuxOptions", "appArmorProfile", "sysctls", "windowsOptions"]),
    `variables.contexts.all(one, has(one.allowPrivilegeEscalation) && !one.allowPrivilegeEscalation && (!has(one.privileged) || !one.privileged) && has(one.capabilities) && has(one.capabilities.drop) && 'ALL' in one.capabilities.drop && (!has(one.capabilities.add) || size(one.capabilities.add) == 0) && (!has(one.runAsNonRoot) || one.runAsNonRoot) && ${runsAsUser("one")} && ${unset("one", ["seccompProfile", "seLinuxOptions", "appArmorProfile", "procMount", "windowsOptions"])})`,
  ].join(" && ");
}

/** A Service with addresses of others takes their traffic. */
function servicePolicy(): AdmissionPolicy {
  return {
    name: "platform-services.cupola.dev",
    resources: [{ group: "", plural: "services" }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [ONLY_PLATFORM],
    validations: [
      forbid(
        "(!has(object.spec.type) || object.spec.type == 'ClusterIP') && (!has(object.spec.externalIPs) || size(object.spec.externalIPs) == 0) && (!has(object.spec.externalName) || object.spec.externalName == '')",
        "Services of the platform are inside the cluster: of type ClusterIP, without external addresses and names",
      ),
    ],
  };
}

/** Addresses that a Service has without a selector may be anybody's, and an ingress controller sends requests there. */
function endpointPolicy(): AdmissionPolicy {
  return {
    name: "platform-endpoints.cupola.dev",
    resources: [{ group: "discovery.k8s.io", plural: "endpointslices" }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [ONLY_PLATFORM],
    validations: [
      forbid(
        `object.metadata.name.startsWith('${ROUTE_SERVICE_PROXY}-') && ('kubernetes.io/service-name' in ${metadataOf("object", "labels")} && object.metadata.labels['kubernetes.io/service-name'] == '${ROUTE_SERVICE_PROXY}') && has(object.ports) && object.ports.all(one, has(one.port) && one.port == ${ROUTE_SERVICE_PORT})`,
        `EndpointSlices of the platform lead to the proxy of route services, at its port ${ROUTE_SERVICE_PORT}`,
      ),
    ],
  };
}
