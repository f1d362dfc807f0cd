// Admission policies and their bindings: refuses those that would enforce nothing.
import { checkPolicy } from "../../admission/check.ts";
import type { PolicySpec, ResourceRule } from "../../../../kube/admission/policy/types.ts";
import { checkRule } from "../../admission/webhooks/check.ts";
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../../field-errors.ts";
import { listOf, mapOf, type Rule, textOf } from "./rule.ts";
import { selectorRules } from "./selector.ts";

const FAILURE_POLICIES = ["Fail", "Ignore"];
const ACTIONS = ["Audit", "Deny", "Warn"];
const NOT_FOUND_ACTIONS = ["Allow", "Deny"];

export const policyRules: Rule = (object) => {
  const spec = mapOf(object.spec);
  const { matchConstraints, failurePolicy } = spec;
  const errors: FieldError[] = [];
  if (!isMap(matchConstraints)) errors.push(required("spec.matchConstraints"));
  else if (listOf(matchConstraints.resourceRules).length === 0)
    errors.push(required("spec.matchConstraints.resourceRules"));
  if (!FAILURE_POLICIES.includes(textOf(failurePolicy)))
    errors.push(notSupported("spec.failurePolicy", failurePolicy, FAILURE_POLICIES));
  return [
    ...errors,
    ...matchRules("spec.matchConstraints", mapOf(matchConstraints)),
    ...checkPolicy({ spec: spec as PolicySpec }),
  ];
};

export const bindingRules: Rule = (object) => {
  const { policyName, validationActions, paramRef, matchResources } = mapOf(object.spec);
  return [
    ...(policyName ? [] : [required("spec.policyName")]),
    ...actionRules(Array.isArray(validationActions) ? (validationActions as unknown[]) : []),
    ...(isMap(paramRef) ? paramRules(paramRef) : []),
    ...matchRules("spec.matchResources", mapOf(matchResources)),
  ];
};

function matchRules(at: string, match: JsonMap): FieldError[] {
  return [
    ...["resourceRules", "excludeResourceRules"].flatMap((field) =>
      listOf(match[field]).flatMap((rule, index) =>
        checkRule(rule as unknown as ResourceRule, `${at}.${field}[${index}]`),
      ),
    ),
    ...["namespaceSelector", "objectSelector"].flatMap((field) => selectorRules(`${at}.${field}`, match[field])),
  ];
}

function actionRules(actions: unknown[]): FieldError[] {
  const at = "spec.validationActions";
  const errors = actions.flatMap((action, index) => [
    ...(ACTIONS.includes(textOf(action)) ? [] : [notSupported(`${at}[${index}]`, action, ACTIONS)]),
    ...(actions.indexOf(action) < index ? [duplicate(`${at}[${index}]`, action)] : []),
  ]);
  if (actions.includes("Deny") && actions.includes("Warn"))
    errors.push(
      invalidValue(
        at,
        actions,
        "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
      ),
    );
  return actions.length === 0 ? [required(at, "at least one validation action is required")] : errors;
}

function paramRules({ name, selector, parameterNotFoundAction: action }: JsonMap): FieldError[] {
  const at = "spec.paramRef";
  const errors: FieldError[] = [];
  if (!name && !selector) errors.push(required(at, "one of name or selector must be specified"));
  if (name && selector)
    errors.push(
      ...["name", "selector"].map((field) =>
        forbiddenField(`${at}.${field}`, "name and selector are mutually exclusive"),
      ),
    );
  if (!action) errors.push(required(`${at}.parameterNotFoundAction`));
  else if (!NOT_FOUND_ACTIONS.includes(textOf(action)))
    errors.push(notSupported(`${at}.parameterNotFoundAction`, action, NOT_FOUND_ACTIONS));
  return [...errors, ...selectorRules(`${at}.selector`, selector)];
}
