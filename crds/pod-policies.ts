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

/** One policy for all namespaces: the platform gives a pod its index, opens its gate, and deletes pods of apps. */
export function podPolicies(): AdmissionPolicy[] {
  return [
    {
      name: "platform-pods.cupola.dev",
      resources: [{ group: "", plural: "pods" }],
      operations: ["UPDATE", "DELETE"],
      matchConditions: [ONLY_PLATFORM],
      variables: [
        ...["labels", "annotations"].flatMap((field) => [
          { name: field, expression: valuesOf("object", field) },
          { name: `old_${field}`, expression: valuesOf("oldObject", field) },
        ]),
        { name: "gates", expression: gatesOf("object") },
        { name: "old_gates", expression: gatesOf("oldObject") },
      ],
      validations: podValidations(),
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
        `(variables.gates == variables.old_gates || variables.gates == variables.old_gates.filter(name, name != '${INDEX_GATE}')) && ${["containers", "initContainers"].map(images).join(" && ")} && ${MUTABLE_SPEC_FIELDS.map((field) => unchanged("spec", field)).join(" && ")}`,
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
      expression: `object != null || '${STABLE_LABELS.app}' in variables.old_labels`,
      message: `the platform deletes only pods of apps, which have the label ${STABLE_LABELS.app}`,
      reason: "Forbidden",
    },
  ];
}

function valuesOf(object: string, field: string): string {
  return `${object} != null && has(${object}.metadata.${field}) ? ${object}.metadata.${field} : {}`;
}

function gatesOf(object: string): string {
  return `${object} != null && has(${object}.spec.schedulingGates) ? ${object}.spec.schedulingGates.map(gate, gate.name) : []`;
}

/** Are both maps equal but for this key? */
function sameBut(field: string, key: string): string {
  const [now, before] = [`variables.${field}`, `variables.old_${field}`];
  return `${now}.all(key, key == '${key}' || (key in ${before} && ${now}[key] == ${before}[key])) && ${before}.all(key, key == '${key}' || key in ${now})`;
}
