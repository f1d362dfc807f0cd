// A CRD version's schema, compiled once: pruning, defaulting and validation of its objects.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { CompileSchema, CompiledSchema, FieldError, ValidateOptions } from "../types.ts";
import { invalidValue } from "../field-errors.ts";
import { defaultSteps } from "../../../kube/cel/program.ts";
import { noOld, oldField, type Old } from "./correlate.ts";
import { applyDefaults } from "./defaults.ts";
import { validateLists } from "./lists.ts";
import { cleanEmbedded, cleanEmbeddedMetadata, hasEmbedded, validateEmbedded } from "./embedded.ts";
import { prune, pruneNulls } from "./prune.ts";
import { hasRules, validateRules } from "./rules.ts";
import { readSchema, type SchemaNode } from "./structural.ts";
import { validateValue } from "./validate.ts";

/** Compiles a schema in which `checkSchema` finds no fault. */
export const compileSchema: CompileSchema = (openAPIV3Schema): CompiledSchema => {
  const root = readSchema(openAPIV3Schema);
  const compiled: Compiled = {
    root,
    status: root.properties.get("status"),
    withRules: hasRules(root),
    withEmbedded: hasEmbedded(root),
  };
  return {
    prune: (object) => {
      const unknown = prune(object, root);
      pruneNulls(object, root);
      return compiled.withEmbedded ? [...unknown, ...cleanEmbedded(object, root)] : unknown;
    },
    cleanApplied: (object) => {
      prune(object, root);
      if (compiled.withEmbedded) cleanEmbeddedMetadata(object, root);
    },
    applyDefaults: (object) => applyDefaults(object, root),
    applyStatusDefault(object) {
      const { status } = compiled;
      if (status?.default === undefined) return;
      object.status = structuredClone(status.default);
      applyDefaults(object.status, status);
    },
    withoutNulls: (object) => {
      const copy = structuredClone(object);
      return pruneNulls(copy, root) ? copy : object;
    },
    validate: (object, old, options) => validate(object, old, compiled, options),
  };
};

/** Faults of type: rules cannot run on such values. */
const blocking = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
const notChecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

interface Compiled {
  root: SchemaNode;
  status: SchemaNode | undefined;
  withRules: boolean;
  withEmbedded: boolean;
}

const NO_OPTIONS: Required<ValidateOptions> = { onlyStatus: false, skipValues: false, before: [], known: [] };

function validate(
  object: KubeObject,
  before: KubeObject | undefined,
  compiled: Compiled,
  options: ValidateOptions = {},
): FieldError[] {
  const { root, withRules } = compiled;
  const { onlyStatus, skipValues, before: earlier, known } = { ...NO_OPTIONS, ...options };
  const old: Old = before ? { known: true, value: before } : noOld;
  const values = skipValues ? [] : valueFaults(object, old, compiled, onlyStatus);
  const embedded = compiled.withEmbedded && !onlyStatus ? validateEmbedded(object, root) : [];
  const faults = [...values, ...earlier, ...embedded, ...listFaults(object, root, before)];
  if (!withRules) return faults;
  if ([...known, ...faults].some((fault) => blocking.has(fault.reason)))
    return [...faults, invalidValue("<nil>", null, notChecked)];
  return [...faults, ...validateRules(object, root, old, { steps: defaultSteps })];
}

function valueFaults(object: KubeObject, old: Old, { root, status }: Compiled, onlyStatus: boolean): FieldError[] {
  if (!onlyStatus) return validateValue(object, root, "", old);
  // Messages speak of places below the status, fields of places in the object.
  if (!status || object.status === undefined) return [];
  return validateValue(object.status, status, "", oldField(old, "status")).map((fault): FieldError => {
    if (fault.field === "") return { ...fault, reason: "FieldValueInvalid", field: "<nil>" };
    return fault.field === "<nil>" ? fault : { ...fault, field: `status.${fault.field}` };
  });
}

/** An update may keep the old faults of an object's lists. */
function listFaults(object: KubeObject, root: SchemaNode, before: KubeObject | undefined): FieldError[] {
  const faults = validateLists(object, root, "");
  return faults.length > 0 && before && validateLists(before, root, "").length > 0 ? [] : faults;
}
