// Admission policy on pods: what the platform's own identities may change on them. RBAC gives `patch` on whole pods; this leaves the fields that it needs.
import { ONLY_PLATFORM, type AdmissionPolicy, type Validation } from "./admission-policy.ts";
import { STABLE_LABELS } from "./labels.ts";
import { DELETION_COST, INDEX_GATE } from "./lrp/index-gate.ts";

/** Fields of a pod's spec that Kubernetes lets a client change, besides the scheduling gates and the images. */
const MUTABLE_SPEC_FIELDS = [
  "activeDeadlineSeconds",
  "terminationGracePeriodSeconds",
  "tolerations",
  "nodeSelector",
  "affinity",
];

/**
 * A policy for all namespaces: the platform gives a pod its index, opens its gate, and deletes pods of apps. The match condition decides already, and the
 * validations only say why: kube-apiserver converts both versions of the pod once for all match conditions, and three times more for a policy that matches.
 */
export function podPolicies(): AdmissionPolicy[] {
  const validations = podValidations();
  const isAllowed = validations.map(({ expression }) => `(${expression})`).join(" && ");
  return [
    {
      name: "platform-pods.cupola.dev",
      resources: [{ group: "", plural: "pods" }],
      operations: ["UPDATE", "DELETE"],
      matchConditions: [
        { name: "the-platform-changes-more", expression: `${ONLY_PLATFORM.expression} && !(${isAllowed})` },
      ],
      validations,
    },
  ];
}

function podValidations(): Validation[] {
  const onUpdate = (expression: string): string => `object == null || (${expression})`;
  const images = (list: string): string =>
    `(has(object.spec.${list}) ? object.spec.${list}.map(one, one.image) : []) == (has(oldObject.spec.${list}) ? oldObject.spec.${list}.map(one, one.image) : [])`;
  const unchanged = (part: string, field: string): string =>
    `has(object.${part}.${field}) == has(oldObject.${part}.${field}) && (!has(object.${part}.${field}) || object.${part}.${field} == oldObject.${part}.${field})`;
  return [
    {
      expression: onUpdate(
        `${sameBut("labels", STABLE_LABELS.instanceIndex)} && ${sameBut("annotations", DELETION_COST)}`,
      ),
      message: `of a pod's labels and annotations the platform changes only ${STABLE_LABELS.instanceIndex} and ${DELETION_COST}`,
      reason: "Forbidden",
    },
    {
      expression: onUpdate(
        `(${gatesOf("object")} == ${gatesOf("oldObject")} || ${gatesOf("object")} == ${gatesOf("oldObject")}.filter(name, name != '${INDEX_GATE}')) && ${["containers", "initContainers"].map(images).join(" && ")} && ${MUTABLE_SPEC_FIELDS.map((field) => unchanged("spec", field)).join(" && ")}`,
      ),
      message: `of a pod's spec the platform removes only the scheduling gate ${INDEX_GATE}`,
      reason: "Forbidden",
    },
    {
      expression: onUpdate(`${unchanged("metadata", "ownerReferences")} && ${unchanged("metadata", "finalizers")}`),
      message: "the platform changes neither owners nor finalizers of a pod",
      reason: "Forbidden",
    },
    {
      expression: `object != null || '${STABLE_LABELS.app}' in ${valuesOf("oldObject", "labels")}`,
      message: `the platform deletes only pods of apps, which have the label ${STABLE_LABELS.app}`,
      reason: "Forbidden",
    },
  ];
}

function valuesOf(object: string, field: string): string {
  return `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : {})`;
}

function gatesOf(object: string): string {
  return `(has(${object}.spec.schedulingGates) ? ${object}.spec.schedulingGates.map(gate, gate.name) : [])`;
}

/** Are both maps equal but for this key? */
function sameBut(field: string, key: string): string {
  const [now, before] = [valuesOf("object", field), valuesOf("oldObject", field)];
  return `${now}.all(key, key == '${key}' || (key in ${before} && ${now}[key] == ${before}[key])) && ${before}.all(key, key == '${key}' || key in ${now})`;
}
