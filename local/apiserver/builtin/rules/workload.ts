// Deployment (and in outline its kin): selector, numbers, strategy, status. What is in the template is in pod.ts.
import { isDeepStrictEqual } from "node:util";
import { selectorMatches } from "../../../../kube/api/label-selector.ts";
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../../field-errors.ts";
import { listOf, mapOf, notNegative, type Rule, sorted } from "./rule.ts";
import { templateRules } from "./pod.ts";
import { selectorRules } from "./selector.ts";

const PERCENT = /^[0-9]+%$/;
const PERCENT_TEXT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Rules for kinds that nothing here runs: only what would make them useless everywhere is refused. */
export const workloadRules: Rule = (object, old) => {
  const spec = mapOf(object.spec);
  const errors = isMap(spec.selector) ? labelsMatch(spec) : [required("spec.selector")];
  if (listOf(mapOf(mapOf(spec.template).spec).containers).length === 0)
    errors.push(required("spec.template.spec.containers"));
  return [...errors, ...notNegative("spec.replicas", spec.replicas), ...immutableSelector(spec, old?.spec)];
};

export const deploymentRules: Rule = (object, old) => {
  const spec = mapOf(object.spec);
  const { progressDeadlineSeconds: deadline } = spec;
  const selector = ownSelectorRules(spec);
  return [
    ...notNegative("spec.replicas", spec.replicas),
    ...selector.faults,
    ...(selector.isReadable ? [...labelsMatch(spec), ...templateRules(mapOf(spec.template), "spec.template")] : []),
    ...strategyRules(mapOf(spec.strategy)),
    ...notNegative("spec.minReadySeconds", spec.minReadySeconds),
    ...notNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
    ...notNegative("spec.progressDeadlineSeconds", deadline),
    ...(typeof deadline === "number" && deadline <= Number(spec.minReadySeconds ?? 0)
      ? [invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")]
      : []),
    ...immutableSelector(spec, old?.spec),
  ];
};

function immutableSelector({ selector }: JsonMap, before: unknown): FieldError[] {
  return before === undefined || isDeepStrictEqual(selector, mapOf(before).selector)
    ? []
    : [invalidValue("spec.selector", sorted(selector ?? null), "field is immutable")];
}

/** A missing selector is an error; an empty one is not compared with the template. */
function labelsMatch({ selector, template }: JsonMap): FieldError[] {
  const { labels } = mapOf(mapOf(template).metadata);
  if (
    isMap(selector) &&
    (isEmptySelector(selector) || selectorMatches(selector, labels as Record<string, string> | undefined))
  )
    return [];
  return [
    invalidValue(
      "spec.template.metadata.labels",
      sorted(labels ?? null),
      "`selector` does not match template `labels`",
    ),
  ];
}

const isEmptySelector = ({ matchLabels, matchExpressions }: JsonMap) =>
  Object.keys(mapOf(matchLabels)).length === 0 && listOf(matchExpressions).length === 0;

function ownSelectorRules({ selector }: JsonMap): { faults: FieldError[]; isReadable: boolean } {
  if (!isMap(selector)) return { faults: [required("spec.selector")], isReadable: true };
  const faults = selectorRules("spec.selector", selector);
  const isReadable = faults.length === 0;
  if (!isReadable) faults.push(invalidValue("spec.selector", sorted(selector), "invalid label selector"));
  if (isEmptySelector(selector))
    faults.push(invalidValue("spec.selector", {}, "empty selector is invalid for deployment"));
  return { faults, isReadable };
}

function strategyRules({ type, rollingUpdate }: JsonMap): FieldError[] {
  const at = "spec.strategy.rollingUpdate";
  if (type === "Recreate")
    return rollingUpdate === undefined
      ? []
      : [forbiddenField(at, "may not be specified when strategy `type` is 'Recreate'")];
  const { maxUnavailable, maxSurge } = mapOf(rollingUpdate);
  if (type === "RollingUpdate") return rollingRules(at, maxUnavailable, maxSurge);
  return [
    notSupported(
      "spec.strategy",
      {
        Type: type ?? "",
        RollingUpdate: isMap(rollingUpdate) ? { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge } : null,
      },
      ["Recreate", "RollingUpdate"],
    ),
  ];
}

function rollingRules(at: string, maxUnavailable: unknown, maxSurge: unknown): FieldError[] {
  const isStuck = amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0;
  const isTooMuch = PERCENT.test(String(maxUnavailable)) && amountOf(maxUnavailable) > 100;
  return [
    ...amountRules(`${at}.maxUnavailable`, maxUnavailable),
    ...amountRules(`${at}.maxSurge`, maxSurge),
    ...(isStuck ? [invalidValue(`${at}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")] : []),
    ...(isTooMuch ? [invalidValue(`${at}.maxUnavailable`, maxUnavailable, "must not be greater than 100%")] : []),
  ];
}

const amountOf = (amount: unknown): number => {
  const text = String(amount ?? 0);
  return PERCENT.test(text) || /^-?\d+$/.test(text) ? Number.parseInt(text, 10) : 0;
};

function amountRules(field: string, amount: unknown): FieldError[] {
  if (typeof amount !== "string") return notNegative(field, amount);
  return PERCENT.test(amount) ? [] : [invalidValue(field, amount, PERCENT_TEXT)];
}

const COUNTS = [
  "observedGeneration",
  "replicas",
  "updatedReplicas",
  "readyReplicas",
  "availableReplicas",
  "unavailableReplicas",
  "collisionCount",
];

/** Rules for a write of the status. */
export const deploymentStatusRules: Rule = (object, old) => {
  const status = mapOf(object.status);
  const of = (field: string) => Number(status[field] ?? 0);
  const before = mapOf(old?.status).collisionCount;
  const moreThanAll = ["updatedReplicas", "readyReplicas", "availableReplicas"].filter(
    (field) => of(field) > of("replicas"),
  );
  return [
    ...COUNTS.flatMap((field) => notNegative(`status.${field}`, status[field])),
    ...moreThanAll.map((field) => invalidValue(`status.${field}`, of(field), "cannot be greater than status.replicas")),
    ...(of("availableReplicas") > of("readyReplicas")
      ? [invalidValue("status.availableReplicas", of("availableReplicas"), "cannot be greater than readyReplicas")]
      : []),
    ...(typeof before === "number" && of("collisionCount") < before
      ? [invalidValue("status.collisionCount", of("collisionCount"), "cannot be decremented")]
      : []),
  ];
};
