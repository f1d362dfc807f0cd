// Admission policies of a spoke: its hub writes in namespaces of its own only, and makes those new or where they consent (docs/many-clusters.md).
import { forbid, ONLY_PLATFORM, toPolicyResource, type AdmissionPolicy, type Validation } from "./admission-policy.ts";
import { BUNDLE_KINDS } from "./cluster-bundle/bundle-kinds.ts";
import { GROUP } from "./groups.ts";
import { HUB_USER } from "./hub-account.ts";
import { INTERNAL_LABELS, OBSERVE_LABELS } from "./labels.ts";
import { LRP } from "./lrp/lrp.ts";
import { REGISTRY_SECRET } from "./registry-secret.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { TaskRun } from "./task-run/task-run.ts";
import { foreignKeysKept, metadataOf, RESERVED_NAMESPACE } from "./platform-policies.ts";

const HUB = OBSERVE_LABELS.hub;
const CONSENT = INTERNAL_LABELS.adoptableBy;
const KIND = INTERNAL_LABELS.namespaceKind;

/** Names of Secrets with an app's variables (controllers/shared/env-snapshot.ts). */
const ENV_SECRET = "-env-[0-9a-f]{16}$";

const ONLY_HUB = { name: "the-hub", expression: `request.userInfo.username == '${HUB_USER}'` };

export function hubPolicies(): AdmissionPolicy[] {
  return [contentPolicy(), secretPolicy(), bundlePolicy()];
}

/** The value of a label, empty where the object does not have it. */
function labelOf(object: string, key: string): string {
  return `(${object} != null && '${key}' in ${metadataOf(object, "labels")} ? ${object}.metadata.labels['${key}'] : '')`;
}

const HUB_OF_NAMESPACE = { name: "home", expression: labelOf("namespaceObject", HUB) };

const IN_OWN_NAMESPACE = forbid(
  "variables.home != ''",
  `the hub writes in its own namespaces only, which have the label ${HUB}`,
);

/** LRPs, TaskRuns and RouteBindings of the hub have its label, the marks of no other object's child, and nothing of what others keep in the namespace. */
function contentPolicy(): AdmissionPolicy {
  const isOurs = (object: string): string => `${labelOf(object, HUB)} == variables.home`;
  const isLent = `object != null && ${labelOf("oldObject", HUB)} == '' && ${labelOf("oldObject", CONSENT)} == variables.home`;
  const owners = (object: string): string => metadataOf(object, "ownerReferences");
  return {
    name: "hub-contents.cupola.dev",
    resources: [LRP, TaskRun, RouteBinding].map((kind) => toPolicyResource(kind)),
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_HUB],
    variables: [HUB_OF_NAMESPACE],
    validations: [
      IN_OWN_NAMESPACE,
      forbid(
        `(object == null || ${isOurs("object")}) && (oldObject == null || ${isOurs("oldObject")} || (${isLent}))`,
        `the hub writes objects with its label ${HUB} only, and such as consent by the label ${CONSENT}`,
      ),
      forbid(
        // A garbage collector deletes an object whose owner it cannot find.
        `object == null || ${owners("object")} == (oldObject == null ? [] : ${owners("oldObject")})`,
        "objects of the hub have no owner on this cluster",
      ),
      forbid(
        `object == null || oldObject != null || (${ownSecretsOnly()} && (!has(object.spec.volumes) || size(object.spec.volumes) == 0))`,
        `LRPs and TaskRuns of the hub use Secrets of variables that the hub made, ${REGISTRY_SECRET} to pull images, no other Secrets, and no volumes`,
      ),
      forbid(
        "object == null || !has(object.spec.destinations) || object.spec.destinations.all(one, !has(one.namespace))",
        "routes of the hub lead to apps of their own namespace",
      ),
    ],
  };
}

function ownSecretsOnly(): string {
  const env =
    "(!has(object.spec.env) || object.spec.env.all(one, !has(one.valueFrom) || one.valueFrom.secretKeyRef.name.matches('" +
    `${ENV_SECRET}')))`;
  const files = `(!has(object.spec.serviceFiles) || object.spec.serviceFiles.secretRef.name.matches('${ENV_SECRET}'))`;
  const droplet = "object.spec.droplet";
  // A RouteBinding has no droplet.
  const pull = `(!has(${droplet}) || !has(${droplet}.imagePullSecretRef) || ${droplet}.imagePullSecretRef.name == '${REGISTRY_SECRET}')`;
  return `${env} && ${files} && ${pull}`;
}

function secretPolicy(): AdmissionPolicy {
  return {
    name: "hub-secrets.cupola.dev",
    resources: [{ group: "", plural: "secrets" }],
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_HUB],
    variables: [HUB_OF_NAMESPACE],
    validations: [
      IN_OWN_NAMESPACE,
      forbid(
        `oldObject == null && ${labelOf("object", HUB)} == variables.home && object.metadata.name.matches('${ENV_SECRET}') && (!has(object.type) || object.type == 'Opaque') && size(${metadataOf("object", "ownerReferences")}) == 0`,
        `the hub makes Secrets of variables with its label ${HUB}, and changes and deletes none`,
      ),
    ],
  };
}

/** The operator of the spoke names the namespaces, by a Role for the hub in each: `hub.bundles.namespaces` of the chart. */
function bundlePolicy(): AdmissionPolicy {
  const isOurs = `${labelOf("object", HUB)} != ''`;
  const wasOurs = `${labelOf("oldObject", HUB)} != ''`;
  const isLent = `${labelOf("oldObject", CONSENT)} != '' && ${labelOf("oldObject", CONSENT)} == ${labelOf("object", HUB)}`;
  const same = (field: "finalizers" | "ownerReferences"): string =>
    `${metadataOf("object", field)} == (oldObject == null ? [] : ${metadataOf("oldObject", field)})`;
  return {
    name: "hub-bundles.cupola.dev",
    resources: BUNDLE_KINDS.map(({ group, plural }) => ({ group, plural })),
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_HUB],
    validations: [
      forbid(
        `!request.namespace.matches('${RESERVED_NAMESPACE}')`,
        "bundles of the hub write nothing in reserved namespaces",
      ),
      forbid(
        `(object == null || (${isOurs})) && (oldObject == null || (${wasOurs}) || (object != null && ${isLent}))`,
        `bundles of the hub write objects with its label ${HUB} only, and such as consent by the label ${CONSENT}`,
      ),
      forbid(
        `object == null || (${same("ownerReferences")} && ${same("finalizers")})`,
        "objects of bundles have no owner on this cluster, and no finalizers of the hub",
      ),
    ],
  };
}

/** For policies of the platform's own places: hub-bundles.cupola.dev bounds what bundles write. */
export function exceptBundles(): { name: string; expression: string } {
  const plurals = BUNDLE_KINDS.map(({ plural }) => `'${plural}'`).join(", ");
  return {
    name: "no-bundle-of-the-hub",
    expression: `!(${ONLY_HUB.expression} && request.resource.resource in [${plurals}])`,
  };
}

/** In place of the policy of the same name where Orgs and Spaces own namespaces. */
export function spokeNamespacePolicy(): AdmissionPolicy {
  return {
    name: "platform-namespaces.cupola.dev",
    resources: ["namespaces", "namespaces/status", "namespaces/finalize"].map((plural) => ({ group: "", plural })),
    operations: ["CREATE", "UPDATE", "DELETE"],
    matchConditions: [ONLY_PLATFORM],
    variables: [
      { name: "hub", expression: labelOf("object", HUB) },
      { name: "hubBefore", expression: labelOf("oldObject", HUB) },
      { name: "consent", expression: labelOf("object", CONSENT) },
      { name: "consentBefore", expression: labelOf("oldObject", CONSENT) },
    ],
    validations: namespaceValidations(),
  };
}

function namespaceValidations(): Validation[] {
  const isCreate = "oldObject == null";
  const isDelete = "object == null";
  const isReserved = (object: string): string => `${object}.metadata.name.matches('${RESERVED_NAMESPACE}')`;
  const same = (field: "finalizers" | "ownerReferences"): string =>
    `${metadataOf("object", field)} == ${metadataOf("oldObject", field)}`;
  return [
    forbid(`!(${isDelete})`, "on a spoke the platform deletes no namespace"),
    forbid(
      `${isDelete} || (variables.hub != '' && ${labelOf("object", KIND)} == 'space')`,
      `on a spoke a namespace that the platform writes has the label ${HUB}, and ${KIND}=space`,
    ),
    forbid(
      `!(${isCreate}) || (variables.consent == '' && !${isReserved("object")} && size(${metadataOf("object", "ownerReferences")}) == 0 && ${metadataOf("object", "labels")}.all(key, !key.startsWith('pod-security.kubernetes.io/')))`,
      "a namespace that the hub makes has no reserved name, no owner, no consent to adoption, and no labels of Pod Security",
    ),
    forbid(
      `${isCreate} || ${isDelete} || (variables.hubBefore != '' ? variables.hub == variables.hubBefore : (variables.consentBefore != '' && variables.consentBefore == variables.hub && !${isReserved("oldObject")}))`,
      `the hub changes its own namespaces only, and such as consent to adoption by the label ${CONSENT}`,
    ),
    forbid(
      `${isCreate} || ${isDelete} || (variables.consent == variables.consentBefore && ${foreignKeysKept("labels")} && ${foreignKeysKept("annotations")} && ${same("finalizers")} && ${same("ownerReferences")})`,
      `of a namespace the hub changes only labels and annotations of ${GROUP}, and never the consent to adoption`,
    ),
  ];
}
