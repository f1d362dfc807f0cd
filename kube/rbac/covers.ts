// Privilege escalation check: whether one set of rules covers another, and a description of the missing rules.
import type { PolicyRule } from "./types.ts";

/** Splits a rule into rules of one verb and one resource (and name), or one path. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs)
        parts.push(...perName({ apiGroups: [group], resources: [resource], verbs: [verb] }, rule.resourceNames));
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return parts;
}

function perName(rule: PolicyRule, names: string[] | undefined): PolicyRule[] {
  return names?.length ? names.map((name) => ({ ...rule, resourceNames: [name] })) : [rule];
}

function hasAll(owned: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  return (wanted ?? []).every((one) => owned?.includes(one) ?? false);
}

function allOrHasAll(owned: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  return (owned?.includes("*") ?? false) || hasAll(owned, wanted);
}

function resourceCovered(owned: readonly string[], wanted: string): boolean {
  if (owned.includes("*") || owned.includes(wanted)) return true;
  const slash = wanted.indexOf("/");
  return slash >= 0 && owned.includes(`*/${wanted.slice(slash + 1)}`);
}

function pathCovered(owned: readonly string[], wanted: string): boolean {
  return owned.some((url) => url === wanted || (url.endsWith("*") && wanted.startsWith(url.replace(/\*+$/, ""))));
}

function namesCovered(owned: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean {
  return !owned?.length || (!!wanted?.length && hasAll(owned, wanted));
}

function ruleCovers(owner: PolicyRule, part: PolicyRule): boolean {
  return (
    allOrHasAll(owner.verbs, part.verbs) &&
    allOrHasAll(owner.apiGroups, part.apiGroups) &&
    (part.resources ?? []).every((resource) => resourceCovered(owner.resources ?? [], resource)) &&
    (part.nonResourceURLs ?? []).every((url) => pathCovered(owner.nonResourceURLs ?? [], url)) &&
    namesCovered(owner.resourceNames, part.resourceNames)
  );
}

/** The rules of `wanted` that `owned` does not cover, split up. Empty: all are covered. */
export function missingRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((part) => !owned.some((owner) => ruleCovers(owner, part)));
}

/** Merges split rules: the verbs of one resource (and name) become one rule. Keeps the order. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule>();
  const compact: PolicyRule[] = [];
  for (const rule of rules) {
    const simple = rule.apiGroups?.length === 1 && rule.resources?.length === 1 && !rule.nonResourceURLs?.length;
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = simple ? joined.get(key) : undefined;
    if (known) {
      known.verbs.push(...rule.verbs.filter((verb) => !known.verbs.includes(verb)));
      continue;
    }
    const own = { ...rule, verbs: [...rule.verbs] };
    if (simple) joined.set(key, own);
    compact.push(own);
  }
  return compact;
}

/** Go's `%q` of a list of strings: `["a" "b"]`. */
export function quotedList(items: readonly string[]): string {
  return `[${items.map((item) => JSON.stringify(item)).join(" ")}]`;
}

/** A rule as kube-apiserver prints it in its escalation message: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function describeRule(rule: PolicyRule): string {
  const fields: [string, readonly string[] | undefined][] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  return `{${fields.flatMap(([name, list]) => (list?.length ? [`${name}:${quotedList(list)}`] : [])).join(", ")}}`;
}
