// A CRD version's schema, compiled once: pruning, defaulting and validation of its objects.
import type { KubeObject } from "../../../kube/object.ts";
import type { CompileSchema, CompiledSchema, FieldError } from "../contract.ts";
import { invalidValue } from "../field-errors.ts";
import { defaultSteps } from "../cel/program.ts";
import { noOld, type Old } from "./correlate.ts";
import { applyDefaults } from "./defaults.ts";
import { validateLists } from "./lists.ts";
import { prune, pruneNulls } from "./prune.ts";
import { hasRules, validateRules } from "./rules.ts";
import { readSchema, type SchemaNode } from "./structural.ts";
import { validateValue } from "./validate.ts";

/** Compiles a schema. It should be one in which `checkSchema` finds no fault. */
export const compileSchema: CompileSchema = (openAPIV3Schema): CompiledSchema => {
  const root = readSchema(openAPIV3Schema);
  const withRules = hasRules(root);
  return {
    prune: (object) => {
      const unknown = prune(object, root);
      pruneNulls(object, root);
      return unknown;
    },
    applyDefaults: (object) => applyDefaults(object, root),
    validate: (object, old) => validate(object, root, old, withRules),
  };
};

/** Faults that say that a value is not of the type that rules rely on. */
const blocking = new Set(["FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"]);
const notChecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

function validate(object: KubeObject, root: SchemaNode, before: KubeObject | undefined, withRules: boolean): FieldError[] {
  const old: Old = before ? { known: true, value: before } : noOld;
  const faults = [...validateValue(object, root, "", old), ...listFaults(object, root, before)];
  if (!withRules) return faults;
  if (faults.some((fault) => blocking.has(fault.reason))) return [...faults, invalidValue("<nil>", null, notChecked)];
  return [...faults, ...validateRules(object, root, old, { steps: defaultSteps })];
}

/** An object whose lists were at fault before may stay so. */
function listFaults(object: KubeObject, root: SchemaNode, before: KubeObject | undefined): FieldError[] {
  const faults = validateLists(object, root, "");
  return faults.length > 0 && before && validateLists(before, root, "").length > 0 ? [] : faults;
}
