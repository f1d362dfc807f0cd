// Parts of a constraint as a person reads them in a line. Pure.
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import type { Constraint, ConstraintMatch, ConstraintSelector } from "../../crds/policy-template/constraint.ts";

/** `deny`, or `deny (ci: warn)` with other actions at single points. */
export function describeAction({ spec: { enforcement } }: Constraint): string {
  const others = (enforcement.points ?? []).map(({ point, action }) => `${point}: ${action}`);
  return others.length === 0 ? enforcement.action : `${enforcement.action} (${others.join(", ")})`;
}

/** `everywhere`, or the parts that must all match. */
export function describeMatch(match: ConstraintMatch | undefined = {}): string {
  const { orgs, spaces, orgLabels, spaceLabels, objectLabels, except = [] } = match;
  const parts = [
    ...(orgs ? [`org ${orgs.join(", ")}`] : []),
    ...(spaces ? [`space ${spaces.join(", ")}`] : []),
    describeSelector("org", orgLabels),
    describeSelector("space", spaceLabels),
    describeSelector("object", objectLabels),
  ].filter((part) => part !== "");
  const where = parts.length === 0 ? "everywhere" : parts.join("; ");
  return except.length === 0 ? where : `${where}; ${except.length} exempt`;
}

/** `space labels env=prod, tier In a|b`; empty when it selects everything. */
export function describeSelector(of: string, selector: ConstraintSelector | undefined): string {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const parts = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => `${key} ${operator} ${values.join("|")}`.trimEnd()),
  ];
  return parts.length === 0 ? "" : `${of} labels ${parts.join(", ")}`;
}

/** Whether every door applies it: True, or why not. */
export function describeEnforced(constraint: Constraint): string {
  return describeCondition(constraint, "Enforced");
}

/** A condition's status, with its reason unless it is True; Unknown before the controllers have seen the object. */
export function describeCondition(object: KubeObject, type: string): string {
  const found = findCondition(object, type);
  if (!found) return "Unknown";
  return found.status === "True" || !found.reason ? found.status : `${found.status} (${found.reason})`;
}

/** The sentence of a condition that is not True. */
export function messageOfCondition(object: KubeObject, type: string): string | undefined {
  const found = findCondition(object, type);
  return found?.status === "True" ? undefined : found?.message;
}

function findCondition(object: KubeObject, type: string): Condition | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
  return conditions.find((one) => one.type === type);
}
