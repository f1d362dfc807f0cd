// CF's label selector: parsed once into a predicate on labels.
import { isLabelKey, isLabelValue } from "./metadata.ts";

/** Whether labels match a selector. */
export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

const maxRequirements = 50;
const key = "[A-Za-z0-9_.\\-/]+";
const forms = {
  set: new RegExp(`^(${key}) (in|notin) \\(([^()]*)\\)$`),
  equality: new RegExp(`^(${key})(!=|==|=)([^=!]*)$`),
  existence: new RegExp(`^(!?)(${key})$`),
};

/** Parses a selector, or returns the problem with it. */
export function parseLabelSelector(text: string): LabelMatcher | { problem: string } {
  if (text.trim() === "") return { problem: "Missing label_selector value" };
  const parts = splitRequirements(text);
  if (parts.length > maxRequirements)
    return { problem: `Too many label_selector requirements (maximum is ${maxRequirements})` };
  const tests: LabelMatcher[] = [];
  for (const part of parts) {
    const test = parseRequirement(part.trim());
    if (!test) return { problem: "Invalid label_selector value" };
    tests.push(test);
  }
  return (labels) => tests.every((test) => test(labels));
}

/** Splits at commas that are not inside parentheses. */
function splitRequirements(text: string): string[] {
  return text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [text];
}

function parseRequirement(text: string): LabelMatcher | undefined {
  const [, setKey, operator, list] = forms.set.exec(text) ?? [];
  if (setKey && list !== undefined)
    return matchValues(
      setKey,
      operator === "in",
      list.split(",").map((value) => value.trim()),
    );
  const [, equalKey, sign, value] = forms.equality.exec(text) ?? [];
  if (equalKey && value !== undefined) return matchValues(equalKey, sign !== "!=", [value]);
  const [, bang, name] = forms.existence.exec(text) ?? [];
  return name && isLabelKey(name) ? (labels) => Object.hasOwn(labels, name) === (bang === "") : undefined;
}

/** `in` needs the key and one of the values; `notin` also matches labels without the key. */
function matchValues(name: string, wanted: boolean, values: readonly string[]): LabelMatcher | undefined {
  if (!isLabelKey(name) || !values.every(isLabelValue)) return undefined;
  return (labels) => {
    const value = Object.hasOwn(labels, name) ? labels[name] : undefined;
    return (value !== undefined && values.includes(value)) === wanted;
  };
}
