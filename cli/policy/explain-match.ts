// Why a constraint does not match an object. Each part of the match is asked alone, by the expressions that the API server evaluates, so that both say the same. Pure.
import type { Constraint, ConstraintMatch } from "../../crds/policy-template/constraint.ts";
import { evaluate, prepareConstraint } from "../../crds/policy-template/evaluate.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { describeSelector } from "./describe.ts";
import type { PlacedObject } from "./places.ts";

/** Reasons, in the order of the spec; none when the constraint matches. */
export function explainMatch({ spec: { match = {} } }: Constraint, placed: PlacedObject, now: Date): string[] {
  const { orgs, spaces, orgLabels, spaceLabels, objectLabels, except = [] } = match;
  const { org, space } = placeOf(placed);
  const parts: [part: ConstraintMatch, reason: string][] = [
    ...(orgs ? [part({ orgs }, org === undefined ? "it is in no org" : `its org is ${org}, not ${either(orgs)}`)] : []),
    ...(spaces
      ? [part({ spaces }, space === undefined ? "it is in no space" : `its space is ${space}, not ${either(spaces)}`)]
      : []),
    ...(orgLabels ? [part({ orgLabels }, `not these ${describeSelector("org", orgLabels)}`)] : []),
    ...(spaceLabels ? [part({ spaceLabels }, `not these ${describeSelector("space", spaceLabels)}`)] : []),
    ...(objectLabels ? [part({ objectLabels }, `not these ${describeSelector("object", objectLabels)}`)] : []),
    ...except.map((one) => part({ except: [one] }, `exempt ${describeUntil(one.until)}: ${one.reason}`)),
  ];
  return parts.filter(([one]) => !matches(one, placed, now)).map(([, reason]) => reason);
}

function part(match: ConstraintMatch, reason: string): [ConstraintMatch, string] {
  return [match, reason];
}

function either(patterns: readonly string[]): string {
  return patterns.join(" or ");
}

function describeUntil(until: string | undefined): string {
  return until === undefined ? "without an end" : `until ${until}`;
}

/** Org and `org/space`, as the match reads them. */
function placeOf({ object, namespaceLabels = {} }: PlacedObject): { org?: string; space?: string } {
  const { name } = object.metadata;
  const org = object.kind === "Org" ? name : namespaceLabels[STABLE_LABELS.orgName];
  const space = object.kind === "Space" ? name : namespaceLabels[STABLE_LABELS.spaceName];
  return { ...(org !== undefined && { org, ...(space !== undefined && { space: `${org}/${space}` }) }) };
}

/** A rule that never holds is broken wherever the match matches. */
function matches(match: ConstraintMatch, { object, namespaceLabels }: PlacedObject, now: Date): boolean {
  const rules = PolicyTemplate.spec.parse({
    kind: "Probe",
    title: "probe",
    subjects: [object.kind],
    rules: [{ expression: "false" }],
  });
  const probe: Constraint = {
    apiVersion: "",
    kind: rules.kind,
    metadata: { name: "probe" },
    spec: { match, enforcement: { action: "deny" } },
  };
  const review = { point: "write", operation: "CREATE", object, namespaceLabels } as const;
  return !evaluate([prepareConstraint(rules, probe, now)], review).allowed;
}
