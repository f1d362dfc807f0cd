// kube-apiserver's validation of built-in kinds, one file each in rules/. Kinds that are not listed here are not validated.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Webhook } from "../../../kube/admission/policy/types.ts";
import { checkWebhooks } from "../admission/webhooks/check.ts";
import type { FieldError } from "../types.ts";
import { listOf, type Rule } from "./rules/rule.ts";
import { dataRules, secretRules } from "./rules/data.ts";
import { ingressRules } from "./rules/ingress.ts";
import { leaseRules } from "./rules/lease.ts";
import { ingressStatusRules, serviceStatusRules } from "./rules/load-balancer.ts";
import { namespaceRules } from "./rules/namespace.ts";
import { bindingRules, policyRules } from "./rules/policy.ts";
import { roleBindingRules, roleRules } from "./rules/rbac.ts";
import { addressingRules, serviceRules } from "./rules/service.ts";
import { deploymentRules, deploymentStatusRules, workloadRules } from "./rules/workload.ts";

const webhookRules: Rule = (object) => checkWebhooks(listOf(object.webhooks) as unknown as Webhook[]);

const RULES: Record<string, Rule> = {
  ConfigMap: dataRules,
  Secret: secretRules,
  Service: serviceRules,
  Ingress: ingressRules,
  Lease: leaseRules,
  Namespace: namespaceRules,
  RoleBinding: roleBindingRules,
  ClusterRoleBinding: roleBindingRules,
  Role: roleRules,
  ClusterRole: roleRules,
  Deployment: deploymentRules,
  StatefulSet: workloadRules,
  ReplicaSet: workloadRules,
  DaemonSet: workloadRules,
  ValidatingAdmissionPolicy: policyRules,
  ValidatingAdmissionPolicyBinding: bindingRules,
  ValidatingWebhookConfiguration: webhookRules,
  MutatingWebhookConfiguration: webhookRules,
};

const STATUS_RULES: Record<string, Rule> = {
  Deployment: deploymentStatusRules,
  Ingress: ingressStatusRules,
  Service: serviceStatusRules,
};

const FIRST_RULES: Record<string, Rule> = { Service: addressingRules };

/** Faults after which nothing else of the object is checked. */
export function validateFirst(object: KubeObject, subresource: string): FieldError[] {
  return subresource === "status" ? [] : (FIRST_RULES[object.kind]?.(object, undefined) ?? []);
}

/** Faults of an object of a built-in kind. `subresource` is the door it came by, "" or "status". */
export function validateBuiltin(object: KubeObject, old: KubeObject | undefined, subresource: string): FieldError[] {
  return (subresource === "status" ? STATUS_RULES : RULES)[object.kind]?.(object, old) ?? [];
}
