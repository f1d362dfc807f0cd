// The namespaceSelector of a constraint's policy, which spares the API server from evaluating the match elsewhere.
import type { LabelSelector } from "../../kube/api/label-selector.ts";
import { formatFaults, namedFormats } from "../../kube/cel/functions/formats.ts";
import { STABLE_LABELS } from "../labels.ts";
import { nameAsLabel } from "../space/namespace-labels.ts";
import type { ConstraintMatch } from "./constraint.ts";
import { listRequirements, mirrored, type Requirement } from "./match-expressions.ts";

/**
 * Selects the namespaces of spaces that a constraint may match, for subjects that live in spaces alone. It only narrows: the match expression
 * is evaluated all the same. A requirement that Kubernetes takes in no selector is left to it, or the API server would refuse the policy.
 */
export function namespaceSelector(match: ConstraintMatch | undefined): LabelSelector {
  const { orgs, spaces = [], orgLabels, spaceLabels } = match ?? {};
  const places = spaces.map((pattern) => pattern.split("/"));
  const requirements: Requirement[] = [
    ...namesIn(STABLE_LABELS.orgName, orgs ?? []),
    ...namesIn(
      STABLE_LABELS.orgName,
      places.map(([org = "*", space]) => (space === undefined ? "*" : org)),
    ),
    ...namesIn(
      STABLE_LABELS.spaceName,
      places.map(([, space = "*"]) => space),
    ),
    ...(orgLabels ? listRequirements(mirrored("org", orgLabels)) : []),
    ...(spaceLabels ? listRequirements(mirrored("space", spaceLabels)) : []),
  ];
  return {
    matchExpressions: [
      { key: STABLE_LABELS.spaceName, operator: "Exists" },
      ...requirements.filter(isSelectable).map(toSelectable),
    ],
  };
}

/** Nothing where any name has a wildcard. */
function namesIn(key: string, names: readonly string[]): Requirement[] {
  if (names.length === 0 || names.some((name) => name.includes("*"))) return [];
  return [{ key, operator: "In", values: [...new Set(names.map(nameAsLabel))] }];
}

const hasValues = ({ operator }: Requirement): boolean => operator === "In" || operator === "NotIn";

function isSelectable(requirement: Requirement): boolean {
  const { key, values = [] } = requirement;
  const slash = key.indexOf("/");
  const [prefix, name] = [key.slice(0, slash), key.slice(slash + 1)];
  const isKey = name !== "" && isOf("labelValue", name) && isOf("dns1123Subdomain", prefix);
  return isKey && (!hasValues(requirement) || (values.length > 0 && values.every((one) => isOf("labelValue", one))));
}

function isOf(format: "labelValue" | "dns1123Subdomain", value: string): boolean {
  const known = namedFormats[format];
  return known !== undefined && formatFaults(known, value).length === 0;
}

/** Kubernetes takes values for In and NotIn alone. */
function toSelectable({ values, ...requirement }: Requirement): Requirement {
  return hasValues({ ...requirement }) ? { ...requirement, ...(values && { values: [...values] }) } : requirement;
}
