// Roles and bindings.
import { isDeepStrictEqual } from "node:util";
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { invalidValue, notSupported, required } from "../../field-errors.ts";
import { pathSegmentName, subdomainName } from "../../registry/names.ts";
import { listOf, mapOf, named, type Rule, textOf } from "./rule.ts";
import { selectorRules } from "./selector.ts";

const GROUP = "rbac.authorization.k8s.io";

export const roleBindingRules: Rule = (object, old) => {
  const ref = mapOf(object.roleRef);
  const isChanged = old !== undefined && !isDeepStrictEqual(ref, old.roleRef);
  return [
    ...refRules(ref, object.kind),
    ...(isChanged
      ? [
          invalidValue(
            "roleRef",
            { APIGroup: ref.apiGroup ?? "", Kind: ref.kind ?? "", Name: ref.name ?? "" },
            "cannot change roleRef",
          ),
        ]
      : []),
    ...listOf(object.subjects).flatMap((subject, index) => subjectRules(`subjects[${index}]`, subject, object.kind)),
  ];
};

function refRules(ref: JsonMap, bindingKind: string): FieldError[] {
  const name = textOf(ref.name);
  const kinds = bindingKind === "RoleBinding" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  return [
    ...(ref.apiGroup === GROUP ? [] : [notSupported("roleRef.apiGroup", ref.apiGroup ?? "", [GROUP])]),
    ...(kinds.includes(textOf(ref.kind)) ? [] : [notSupported("roleRef.kind", ref.kind ?? "", kinds)]),
    ...(name === "" ? [required("roleRef.name")] : named("roleRef.name", name, pathSegmentName(name, false))),
  ];
}

const SUBJECT_GROUPS: ReadonlyMap<string, string> = new Map([
  ["ServiceAccount", ""],
  ["User", GROUP],
  ["Group", GROUP],
]);

function subjectRules(at: string, subject: JsonMap, bindingKind: string): FieldError[] {
  const [kind, name, apiGroup] = [textOf(subject.kind), textOf(subject.name), textOf(subject.apiGroup)];
  const group = SUBJECT_GROUPS.get(kind);
  const isAccount = kind === "ServiceAccount";
  return [
    ...(name === ""
      ? [required(`${at}.name`)]
      : isAccount
        ? named(`${at}.name`, name, subdomainName(name, false))
        : []),
    // Without one, a RoleBinding means its own.
    ...(isAccount && !subject.namespace && bindingKind !== "RoleBinding" ? [required(`${at}.namespace`)] : []),
    ...(group === undefined
      ? [notSupported(`${at}.kind`, kind, [...SUBJECT_GROUPS.keys()])]
      : apiGroup === group
        ? []
        : [notSupported(`${at}.apiGroup`, apiGroup, [group])]),
  ];
}

export const roleRules: Rule = (object) => [
  ...aggregationRules(object.aggregationRule),
  ...listOf(object.rules).flatMap((rule, index) => policyRules(`rules[${index}]`, rule, object.kind)),
];

/** Rules for a ClusterRole that is put together from others. */
function aggregationRules(aggregation: unknown): FieldError[] {
  if (!isMap(aggregation)) return [];
  const at = "aggregationRule.clusterRoleSelectors";
  const selectors = listOf(aggregation.clusterRoleSelectors);
  if (selectors.length === 0)
    return [required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  return selectors.flatMap((selector, index) => selectorRules(`${at}[${index}]`, selector));
}

function policyRules(at: string, rule: JsonMap, kind: string): FieldError[] {
  const has = (field: string) => Array.isArray(rule[field]) && rule[field].length > 0;
  const errors = has("verbs") ? [] : [required(`${at}.verbs`, "verbs must contain at least one value")];
  if (has("nonResourceURLs")) {
    const refused = (why: string) => invalidValue(`${at}.nonResourceURLs`, rule.nonResourceURLs, why);
    if (kind === "Role") errors.push(refused("namespaced rules cannot apply to non-resource URLs"));
    if (["apiGroups", "resources", "resourceNames"].some(has))
      errors.push(refused("rules cannot apply to both regular resources and non-resource URLs"));
    return errors;
  }
  if (!has("apiGroups")) errors.push(required(`${at}.apiGroups`, "resource rules must supply at least one api group"));
  if (!has("resources")) errors.push(required(`${at}.resources`, "resource rules must supply at least one resource"));
  return errors;
}
