// Matches a request against one rule, exactly as kube-apiserver does.
import type { PolicyRule, AccessAttributes, ResourceAttributes } from "./types.ts";

const none: readonly string[] = [];

/** Whether `wanted` or the wildcard is in `list`. */
function includesOrAll(list: readonly string[] | undefined, wanted: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(wanted));
}

function resourceMatches(rule: PolicyRule, combined: string, subresource: string): boolean {
  for (const resource of rule.resources ?? none) {
    if (resource === "*" || resource === combined) return true;
    if (subresource !== "" && resource === `*/${subresource}`) return true;
  }
  return false;
}

/** Whether a rule covers this verb and resource; resourceNames are ignored. */
export function ruleCoversResource(rule: PolicyRule, q: ResourceAttributes): boolean {
  const subresource = q.subresource ?? "";
  const combined = subresource === "" ? q.resource : `${q.resource}/${subresource}`;
  return (
    includesOrAll(rule.verbs, q.verb) &&
    includesOrAll(rule.apiGroups, q.group) &&
    resourceMatches(rule, combined, subresource)
  );
}

function pathMatches(rule: PolicyRule, path: string): boolean {
  for (const url of rule.nonResourceURLs ?? none) {
    if (url === "*" || url === path) return true;
    if (url.endsWith("*") && path.startsWith(url.replace(/\*+$/, ""))) return true;
  }
  return false;
}

/** Whether the rule allows the request. */
export function ruleAllows(rule: PolicyRule, q: AccessAttributes): boolean {
  if ("path" in q) return includesOrAll(rule.verbs, q.verb) && pathMatches(rule, q.path);
  const names = rule.resourceNames ?? none;
  return ruleCoversResource(rule, q) && (names.length === 0 || names.includes(q.name ?? ""));
}
