// Which requests a policy, a binding or a webhook is about: resource rules and selectors, as kube-apiserver matches them.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { AdmissionRequest } from "../types.ts";
import { selectorMatches, type LabelSelector } from "../../../kube/api/label-selector.ts";
import type { MatchResources, ResourceRule, Webhook } from "../../../kube/admission/policy/types.ts";

export const admissionGroup = "admissionregistration.k8s.io";

/** Resources that nothing may intercept: what configures admission, and questions that are not stored. */
const exemptKinds = /^(Validating|Mutating)(AdmissionPolicy|AdmissionPolicyBinding|WebhookConfiguration)$/;
const exemptReviews = new Set([
  "TokenReview",
  "SelfSubjectReview",
  "SubjectAccessReview",
  "LocalSubjectAccessReview",
  "SelfSubjectAccessReview",
  "SelfSubjectRulesReview",
]);

export function isExempt({ gvk }: AdmissionRequest): boolean {
  if (gvk.group === admissionGroup) return exemptKinds.test(gvk.kind);
  return gvk.group.endsWith(".k8s.io") && exemptReviews.has(gvk.kind);
}

function isEmpty(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}

/** Whether the request is one of those that `match` describes; without rules, any resource is. */
export function requestMatches(match: MatchResources | undefined, request: AdmissionRequest): boolean {
  if (!match) return true;
  if (!namespaceMatches(match.namespaceSelector, request) || !objectMatches(match.objectSelector, request))
    return false;
  const exact = match.matchPolicy === "Exact";
  if ((match.excludeResourceRules ?? []).some((rule) => ruleMatches(rule, request, exact))) return false;
  const rules = match.resourceRules ?? [];
  return rules.length === 0 || rules.some((rule) => ruleMatches(rule, request, exact));
}

/** Whether requests like this one, whatever their object, name and namespace, may be among those that `match` describes. */
export function mayMatch(match: MatchResources | undefined, request: AdmissionRequest): boolean {
  const rules = match?.resourceRules ?? [];
  return rules.length === 0 || rules.some((rule) => operationMatches(rule, request));
}

/** The version in which a webhook wants the object: the request's own, or with match policy Equivalent another that a rule names; undefined when it is not asked. */
export function wantedVersion(webhook: Webhook, request: AdmissionRequest): string | undefined {
  if (!namespaceMatches(webhook.namespaceSelector, request) || !objectMatches(webhook.objectSelector, request))
    return undefined;
  const rules = webhook.rules ?? [];
  if (rules.some((rule) => ruleMatches(rule, request, true))) return request.gvr.version;
  if (webhook.matchPolicy === "Exact") return undefined;
  const others = request.versions ?? [];
  const wanted = rules.map((rule) =>
    others.find((version) => ruleMatches(rule, { ...request, gvr: { ...request.gvr, version } }, true)),
  );
  return wanted.find((version) => version !== undefined);
}

function isNamespace({ gvr }: AdmissionRequest): boolean {
  return gvr.group === "" && gvr.resource === "namespaces";
}

/** Cluster-scoped objects are never left out by a namespace selector, but for namespaces: they are judged by their own labels. */
function namespaceMatches(selector: LabelSelector | undefined, request: AdmissionRequest): boolean {
  if (isEmpty(selector)) return true;
  if (!isNamespace(request))
    return request.namespace === "" || selectorMatches(selector, request.namespaceObject?.metadata.labels);
  const own = request.operation === "CREATE" || request.operation === "UPDATE" ? request.object : request.oldObject;
  return selectorMatches(selector, own?.metadata.labels);
}

function objectMatches(selector: LabelSelector | undefined, request: AdmissionRequest): boolean {
  if (isEmpty(selector)) return true;
  const has = (object: KubeObject | undefined) =>
    object !== undefined && selectorMatches(selector, object.metadata.labels);
  return has(request.object) || has(request.oldObject);
}

const includes = (list: string[] | undefined, wanted: string): boolean =>
  (list ?? []).some((one) => one === "*" || one === wanted);

/** With match policy Equivalent a rule for one version of a resource is a rule for all of them. */
function ruleMatches(rule: ResourceRule, request: AdmissionRequest, exact: boolean): boolean {
  return (
    operationMatches(rule, request) &&
    (!exact || includes(rule.apiVersions, request.gvr.version)) &&
    scopeMatches(rule.scope, request) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(request.name))
  );
}

function operationMatches(rule: ResourceRule, request: AdmissionRequest): boolean {
  return (
    includes(rule.operations, request.operation) &&
    includes(rule.apiGroups, request.gvr.group) &&
    resourceMatches(rule.resources, request)
  );
}

function scopeMatches(scope: string | undefined, request: AdmissionRequest): boolean {
  if (scope === undefined || scope === "*") return true;
  const inCluster = isNamespace(request) || request.namespace === "";
  return scope === "Cluster" ? inCluster : !inCluster;
}

function resourceMatches(resources: string[] | undefined, request: AdmissionRequest): boolean {
  return (resources ?? []).some((entry) => {
    const [resource = "", subresource = ""] = entry.split("/");
    return (
      (resource === "*" || resource === request.gvr.resource) &&
      (subresource === "*" || subresource === request.subresource)
    );
  });
}
