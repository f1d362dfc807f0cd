// What kube-apiserver refuses of built-in kinds: one rule for each kind, most of them in rules/.
import type { KubeObject } from "../../../kube/object.ts";
import { checkPolicy } from "../admission/check.ts";
import type { PolicySpec, Webhook } from "../admission/types.ts";
import { checkWebhooks } from "../admission/webhooks/check.ts";
import { isMap } from "../apply/values.ts";
import type { FieldError } from "../contract.ts";
import { notSupported, required } from "../field-errors.ts";
import { listOf, mapOf, type Rule } from "./rules/rule.ts";
import { dataRules, secretRules } from "./rules/data.ts";
import { ingressRules } from "./rules/ingress.ts";
import { leaseRules } from "./rules/lease.ts";
import { roleBindingRules, roleRules } from "./rules/rbac.ts";
import { serviceRules } from "./rules/service.ts";
import { deploymentRules, deploymentStatusRules, workloadRules } from "./rules/workload.ts";

const policyRules: Rule = (object) => {
  const spec = mapOf(object.spec);
  const errors: FieldError[] = [];
  if (!isMap(spec.matchConstraints)) errors.push(required("spec.matchConstraints"));
  else if (listOf(spec.matchConstraints.resourceRules).length === 0) errors.push(required("spec.matchConstraints.resourceRules"));
  if (!["Fail", "Ignore"].includes(String(spec.failurePolicy))) errors.push(notSupported("spec.failurePolicy", spec.failurePolicy, ["Fail", "Ignore"]));
  return [...errors, ...checkPolicy({ spec: spec as PolicySpec })];
};

const bindingRules: Rule = (object) => {
  const spec = mapOf(object.spec);
  const errors: FieldError[] = [];
  if (!spec.policyName) errors.push(required("spec.policyName"));
  if (!Array.isArray(spec.validationActions) || spec.validationActions.length === 0) errors.push(required("spec.validationActions", "at least one validation action is required"));
  const paramRef = spec.paramRef;
  if (isMap(paramRef)) {
    if (!paramRef.name && !paramRef.selector) errors.push(required("spec.paramRef", "one of name or selector must be specified"));
    if (!paramRef.parameterNotFoundAction) errors.push(required("spec.paramRef.parameterNotFoundAction"));
  }
  return errors;
};

const webhookRules: Rule = (object) => checkWebhooks(listOf(object.webhooks) as unknown as Webhook[]);

const RULES: Record<string, Rule> = {
  ConfigMap: dataRules, Secret: secretRules, Service: serviceRules, Ingress: ingressRules, Lease: leaseRules, RoleBinding: roleBindingRules, ClusterRoleBinding: roleBindingRules,
  Role: roleRules, ClusterRole: roleRules, Deployment: deploymentRules, StatefulSet: workloadRules, ReplicaSet: workloadRules, DaemonSet: workloadRules,
  ValidatingAdmissionPolicy: policyRules, ValidatingAdmissionPolicyBinding: bindingRules,
  ValidatingWebhookConfiguration: webhookRules, MutatingWebhookConfiguration: webhookRules,
};

const STATUS_RULES: Record<string, Rule> = { Deployment: deploymentStatusRules };

/** Faults of an object of a built-in kind. `subresource` is the door it came by, "" or "status". */
export function validateBuiltin(object: KubeObject, old: KubeObject | undefined, subresource: string): FieldError[] {
  return (subresource === "status" ? STATUS_RULES : RULES)[object.kind]?.(object, old) ?? [];
}
