// The faults that only a schema finds, in kube-apiserver's words. The common ones are in field-errors.ts.
import type { FieldError } from "../types.ts";
import { duplicate, forbiddenField, invalidValue, required } from "../field-errors.ts";

/** A value of another JSON type, or one that its format refuses. `actual` is the type's name, or the value. */
export const typeInvalid = (path: string, expected: string, actual: string): FieldError => ({
  reason: "FieldValueTypeInvalid",
  field: path,
  message: `Invalid value: ${JSON.stringify(actual)}: ${path} in body must be of type ${expected}: ${JSON.stringify(actual)}`,
});

export const tooMany = (path: string, actual: number, most: number): FieldError => ({
  reason: "FieldValueTooMany",
  field: path,
  message: `Too many: ${actual}: must have at most ${most} ${most === 1 ? "item" : "items"}`,
});

export const tooLongText = (path: string, most: number): FieldError => ({
  reason: "FieldValueTooLong",
  field: path,
  message: `Too long: may not be more than ${most} ${most === 1 ? "byte" : "bytes"}`,
});

/** A broken bound: `<path> in body <what>`. */
export const outOfBounds = (path: string, value: unknown, what: string): FieldError =>
  invalidValue(path, value, `${path} in body ${what}`);

/** A value that violates anyOf, oneOf, allOf or not; kube-apiserver names no field. */
export const junctorFault = (path: string, what: string): FieldError =>
  invalidValue("<nil>", "", `${JSON.stringify(path)} ${what}`);

/** A CEL rule that does not hold; `type` stands where the value would. */
export function ruleFault(path: string, type: string, detail: string, reason: string | undefined): FieldError {
  const field = path === "" ? "<nil>" : path;
  if (reason === "FieldValueForbidden") return forbiddenField(field, detail);
  if (reason === "FieldValueRequired") return required(field, detail);
  return reason === "FieldValueDuplicate" ? duplicate(field, type) : invalidValue(field, type, detail);
}
