// Label selectors of metav1, as Kubernetes matches them.

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Whether labels satisfy a selector; an empty one takes everything. */
export function selectorMatches(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const has = labels ?? {};
  const byLabel = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => has[key] === value);
  return byLabel && (selector?.matchExpressions ?? []).every((one) => expressionMatches(one, has));
}

function expressionMatches(
  { key, operator, values }: { key: string; operator: string; values?: string[] },
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && (values ?? []).includes(value);
    case "NotIn":
      return value === undefined || !(values ?? []).includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
