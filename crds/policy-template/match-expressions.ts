// A constraint's match as CEL expressions.
import { STABLE_LABELS } from "../labels.ts";
import { mirroredKey, nameAsLabel } from "../space/namespace-labels.ts";
import type { ConstraintMatch, ConstraintSelector } from "./constraint.ts";
import { celLiteral, celText } from "./literal.ts";

/** An expression of a policy, by the name with which others read it as `variables.<name>`. */
export interface NamedExpression {
  name: string;
  expression: string;
}

/** Names that rules may read, and those that only the match reads. Templates may not define any of them. */
export const RESERVED_VARIABLES = ["namespaceLabels", "objectLabels", "org", "space", "matches", "params", "anyObject"];

const IS_SPACE = "object.kind == 'Space'";
const IS_ORG = "object.kind == 'Org'";

/** Variables for the place of the object. An Org and a Space are in themselves. */
export const PLACE_VARIABLES: readonly NamedExpression[] = [
  {
    name: "namespaceLabels",
    expression:
      "namespaceObject != null && has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {}",
  },
  { name: "objectLabels", expression: "has(object.metadata.labels) ? object.metadata.labels : {}" },
  { name: "org", expression: `${IS_ORG} ? object.metadata.name : ${namespaceLabel(STABLE_LABELS.orgName)}` },
  { name: "space", expression: `${IS_SPACE} ? object.metadata.name : ${namespaceLabel(STABLE_LABELS.spaceName)}` },
];

function namespaceLabel(key: string): string {
  return `(${celText(key)} in variables.namespaceLabels ? variables.namespaceLabels[${celText(key)}] : '')`;
}

/** Whether the constraint matches the object, by its place and labels. Exceptions that ended before `now` are left out. */
export function matchExpression(match: ConstraintMatch | undefined, now: Date): string {
  const parts = match ? [...placeParts(match), ...exceptionParts(match, now)] : [];
  return parts.length === 0 ? "true" : parts.map((part) => `(${part})`).join(" && ");
}

function placeParts({ orgs, spaces, orgLabels, spaceLabels, objectLabels }: ConstraintMatch): string[] {
  return [
    ...(orgs ? [anyPattern("variables.org", orgs)] : []),
    ...(spaces ? ["variables.space != ''", anyPattern("(variables.org + '/' + variables.space)", spaces)] : []),
    ...(orgLabels
      ? [
          "variables.org != ''",
          `${IS_ORG} ? (${selectorExpression("variables.objectLabels", orgLabels)}) : (${selectorExpression("variables.namespaceLabels", mirrored("org", orgLabels))})`,
        ]
      : []),
    ...(spaceLabels
      ? [
          "variables.space != ''",
          `${IS_SPACE} ? (${selectorExpression("variables.objectLabels", spaceLabels)}) : (${selectorExpression("variables.namespaceLabels", mirrored("space", spaceLabels))})`,
        ]
      : []),
    ...(objectLabels ? [selectorExpression("variables.objectLabels", objectLabels)] : []),
  ];
}

/** Without a value `*` still asks for an org or a space. */
function anyPattern(value: string, patterns: readonly string[]): string {
  return patterns.map((pattern) => patternExpression(value, pattern)).join(" || ");
}

function patternExpression(value: string, pattern: string): string {
  if (pattern === "*") return `${value} != ''`;
  if (pattern.endsWith("*")) return `${value}.startsWith(${celText(pattern.slice(0, -1))})`;
  if (pattern.startsWith("*")) return `${value}.endsWith(${celText(pattern.slice(1))})`;
  return isName(value, pattern);
}

/** A namespace's labels have a long name in a short form, an Org or a Space has it as it is. */
function isName(value: string, name: string): string {
  const parts = name.split("/").map((part) => [...new Set([part, nameAsLabel(part)])]);
  const names = parts.reduce((before, part) => before.flatMap((one) => part.map((next) => `${one}/${next}`)));
  return names.length === 1 ? `${value} == ${celText(name)}` : `${value} in [${names.map(celText).join(", ")}]`;
}

function exceptionParts({ except = [] }: ConstraintMatch, now: Date): string[] {
  return except
    .filter(({ until }) => until === undefined || Date.parse(until) > now.getTime())
    .map(({ space, name }) => {
      const place = isName("variables.org + '/' + variables.space", space);
      return name === undefined ? `!(${place})` : `!(${place} && object.metadata.name == ${celText(name)})`;
    });
}

/** When the next exception ends after `now`; undefined when none does. */
export function nextExceptionEnd(match: ConstraintMatch | undefined, now: Date): Date | undefined {
  const ends = (match?.except ?? []).flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until)]));
  const next = Math.min(...ends.filter((end) => end > now.getTime()));
  return Number.isFinite(next) ? new Date(next) : undefined;
}

function selectorExpression(labels: string, selector: ConstraintSelector): string {
  const parts = listRequirements(selector).map((one) => requirementExpression(labels, one));
  return parts.length === 0 ? "true" : parts.join(" && ");
}

/** A requirement of a selector on one label. */
export type Requirement = NonNullable<ConstraintSelector["matchExpressions"]>[number];

/** All requirements of a selector, in one form. */
export function listRequirements({ matchLabels = {}, matchExpressions = [] }: ConstraintSelector): Requirement[] {
  return [
    ...Object.entries(matchLabels).map(([key, value]): Requirement => ({ key, operator: "In", values: [value] })),
    ...matchExpressions,
  ];
}

function requirementExpression(labels: string, { key, operator, values = [] }: Requirement): string {
  switch (operator) {
    case "In":
      return isIn(labels, key, values);
    case "NotIn":
      return `!${isIn(labels, key, values)}`;
    case "Exists":
      return `${celText(key)} in ${labels}`;
    case "DoesNotExist":
      return `!(${celText(key)} in ${labels})`;
  }
}

function isIn(labels: string, key: string, values: readonly string[]): string {
  const list = `[${values.map((value) => celText(value)).join(", ")}]`;
  return `(${celText(key)} in ${labels} && ${labels}[${celText(key)}] in ${values.length > 0 ? list : celLiteral([])})`;
}

/** A selector of CF labels as one of the namespace's labels. */
export function mirrored(of: "org" | "space", selector: ConstraintSelector): ConstraintSelector {
  return { matchExpressions: listRequirements(selector).map((one) => ({ ...one, key: mirroredKey(of, one.key) })) };
}
