// What kube-apiserver refuses of built-in kinds, and how it prepares them. Only rules that protect something on a laptop.
import { checkPolicy } from "../admission/check.ts";
import type { PolicySpec, Webhook } from "../admission/types.ts";
import { checkWebhooks } from "../admission/webhooks/check.ts";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/object.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import type { FieldError } from "../contract.ts";
import { forbiddenField, invalidValue, notSupported, required, tooLong } from "../field-errors.ts";

const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const DATA_LIMIT = 1024 * 1024;

type Rule = (object: KubeObject, old: KubeObject | undefined) => FieldError[];

const mapOf = (value: unknown): JsonMap => (isMap(value) ? value : {});
const listOf = (value: unknown): JsonMap[] => (Array.isArray(value) ? (value as unknown[]).filter(isMap) : []);

function dataRules(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const field of ["data", "binaryData"]) {
    for (const [key, value] of Object.entries(mapOf(object[field]))) {
      size += String(value).length;
      if (!KEY.test(key)) errors.push(invalidValue(`${field}[${key}]`, key, KEY_TEXT));
    }
  }
  const twice = Object.keys(mapOf(object.data)).filter((key) => Object.hasOwn(mapOf(object.binaryData), key));
  errors.push(...twice.map((key) => invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")));
  const bytes = object.kind === "Secret" ? Math.floor((size * 3) / 4) : size;
  if (bytes > DATA_LIMIT) errors.push(tooLong(object.kind === "Secret" ? "data" : "[]", DATA_LIMIT));
  return old?.immutable === true ? [...errors, ...immutableRules(object, old)] : errors;
}

function immutableRules(object: KubeObject, old: KubeObject): FieldError[] {
  const changed = ["data", "binaryData"].filter((field) => !isDeepStrictEqual(mapOf(object[field]), mapOf(old[field])));
  if (object.immutable !== true) changed.unshift("immutable");
  return changed.map((field) => forbiddenField(field, "field is immutable when `immutable` is set"));
}

const SECRET_KEYS: Record<string, string[]> = {
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"], "kubernetes.io/dockercfg": [".dockercfg"], "kubernetes.io/tls": ["tls.crt", "tls.key"], "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};

const secretRules: Rule = (object, old) => {
  const errors = dataRules(object, old);
  if (old && object.type !== old.type) errors.push(invalidValue("type", object.type, "field is immutable"));
  const data = mapOf(object.data);
  for (const key of SECRET_KEYS[String(object.type)] ?? []) if (data[key] === undefined) errors.push(required(`data[${key}]`));
  if (object.type === "kubernetes.io/basic-auth" && data.username === undefined && data.password === undefined) errors.push(required("data[username]"), required("data[password]"));
  return errors;
};

const serviceRules: Rule = (object, old) => {
  const spec = mapOf(object.spec);
  const errors: FieldError[] = [];
  const ports = listOf(spec.ports);
  if (ports.length === 0 && spec.type !== "ExternalName" && spec.clusterIP !== "None") errors.push(required("spec.ports"));
  ports.forEach((port, index) => {
    const at = `spec.ports[${index}]`;
    if (typeof port.port !== "number" || port.port < 1 || port.port > 65535) errors.push(invalidValue(`${at}.port`, port.port ?? 0, "must be between 1 and 65535, inclusive"));
    if (!["TCP", "UDP", "SCTP"].includes(String(port.protocol))) errors.push(notSupported(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"]));
    if (ports.length > 1 && !port.name) errors.push(required(`${at}.name`));
  });
  if (!["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].includes(String(spec.type))) errors.push(notSupported("spec.type", spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]));
  const before = mapOf(old?.spec).clusterIP;
  if (before && spec.clusterIP !== before && spec.type !== "ExternalName") errors.push(invalidValue("spec.clusterIPs[0]", [spec.clusterIP ?? ""], "may not change once set"));
  return errors;
};

const roleBindingRules: Rule = (object, old) => {
  const ref = mapOf(object.roleRef);
  const errors: FieldError[] = [];
  const kinds = object.kind === "RoleBinding" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (ref.apiGroup !== "rbac.authorization.k8s.io") errors.push(notSupported("roleRef.apiGroup", ref.apiGroup ?? "", ["rbac.authorization.k8s.io"]));
  if (!kinds.includes(String(ref.kind))) errors.push(notSupported("roleRef.kind", ref.kind ?? "", kinds));
  if (!ref.name) errors.push(required("roleRef.name"));
  if (old && !isDeepStrictEqual(ref, old.roleRef)) errors.push(invalidValue("roleRef", ref, "cannot change roleRef"));
  listOf(object.subjects).forEach((subject, index) => {
    const at = `subjects[${index}]`;
    if (!subject.name) errors.push(required(`${at}.name`));
    // Without one, a RoleBinding means its own.
    if (subject.kind === "ServiceAccount" && !subject.namespace && object.kind !== "RoleBinding") errors.push(required(`${at}.namespace`));
    if (!["ServiceAccount", "User", "Group"].includes(String(subject.kind))) errors.push(notSupported(`${at}.kind`, subject.kind ?? "", ["ServiceAccount", "User", "Group"]));
  });
  return errors;
};

const roleRules: Rule = (object) =>
  listOf(object.rules).flatMap((rule, index) => {
    const at = `rules[${index}]`;
    const has = (field: string) => Array.isArray(rule[field]) && rule[field].length > 0;
    const errors = has("verbs") ? [] : [required(`${at}.verbs`, "verbs must contain at least one value")];
    if (has("nonResourceURLs")) return object.kind === "Role" ? [...errors, invalidValue(`${at}.nonResourceURLs`, rule.nonResourceURLs, "namespaced rules cannot apply to non-resource URLs")] : errors;
    if (!has("apiGroups")) errors.push(required(`${at}.apiGroups`, "resource rules must supply at least one api group"));
    if (!has("resources")) errors.push(required(`${at}.resources`, "resource rules must supply at least one resource"));
    return errors;
  });

const workloadRules: Rule = (object, old) => {
  const spec = mapOf(object.spec);
  const labels = mapOf(mapOf(mapOf(spec.template).metadata).labels);
  const wanted = mapOf(mapOf(spec.selector).matchLabels);
  const errors: FieldError[] = [];
  if (!isMap(spec.selector)) errors.push(required("spec.selector"));
  else if (Object.entries(wanted).some(([key, value]) => labels[key] !== value)) errors.push(invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"));
  if (listOf(mapOf(mapOf(spec.template).spec).containers).length === 0) errors.push(required("spec.template.spec.containers"));
  if (typeof spec.replicas === "number" && spec.replicas < 0) errors.push(invalidValue("spec.replicas", spec.replicas, "must be greater than or equal to 0"));
  if (old && !isDeepStrictEqual(spec.selector, mapOf(old.spec).selector)) errors.push(invalidValue("spec.selector", spec.selector, "field is immutable"));
  return errors;
};

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
  ConfigMap: dataRules, Secret: secretRules, Service: serviceRules, RoleBinding: roleBindingRules, ClusterRoleBinding: roleBindingRules,
  Role: roleRules, ClusterRole: roleRules, Deployment: workloadRules, StatefulSet: workloadRules, ReplicaSet: workloadRules, DaemonSet: workloadRules,
  ValidatingAdmissionPolicy: policyRules, ValidatingAdmissionPolicyBinding: bindingRules,
  ValidatingWebhookConfiguration: webhookRules, MutatingWebhookConfiguration: webhookRules,
};

/** Faults of an object of a built-in kind. */
export function validateBuiltin(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  return RULES[object.kind]?.(object, old) ?? [];
}
