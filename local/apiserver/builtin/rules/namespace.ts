// Namespace: its finalizers.
import type { FieldError } from "../../types.ts";
import { invalidValue } from "../../field-errors.ts";
import { qualifiedName } from "../../registry/names.ts";
import { mapOf, named, type Rule, textOf } from "./rule.ts";

const STANDARD = ["foregroundDeletion", "kubernetes", "orphan"];
const AT = "spec.finalizers";

/** Finalizers of the namespace's content, not those of its metadata. Faults of a new namespace have no path. */
export const namespaceRules: Rule = ({ spec }, old) => {
  const { finalizers } = mapOf(spec);
  const names = Array.isArray(finalizers) ? (finalizers as unknown[]).map(textOf) : [];
  return names.flatMap((name, index) => finalizerRules(old ? `${AT}[${index}]` : AT, name));
};

const finalizerRules = (at: string, name: string): FieldError[] => [
  ...named(at, name, qualifiedName(name)),
  ...(name.includes("/") || STANDARD.includes(name)
    ? []
    : [invalidValue(at, name, "name is neither a standard finalizer name nor is it fully qualified")]),
];
