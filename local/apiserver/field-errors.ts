// Faults of single fields in kube-apiserver's words.
import type { FieldError } from "./types.ts";

const shown = (value: unknown) =>
  typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value) ?? "null");

export const required = (field: string, detail = ""): FieldError => ({
  reason: "FieldValueRequired",
  field,
  message: detail ? `Required value: ${detail}` : "Required value",
});

export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${shown(value)}: ${detail}`,
});

export const notSupported = (field: string, value: unknown, supported: string[]): FieldError => ({
  reason: "FieldValueNotSupported",
  field,
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((each) => JSON.stringify(each)).join(", ")}`,
});

export const forbiddenField = (field: string, detail: string): FieldError => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden: ${detail}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${shown(value)}`,
});

export const notFoundValue = (field: string, value: unknown): FieldError => ({
  reason: "FieldValueNotFound",
  field,
  message: `Not found: ${shown(value)}`,
});

export const tooLong = (field: string, most: number): FieldError => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: may not be more than ${most} bytes`,
});

/** A value as Go prints it unasked. */
export function goPrinted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goPrinted).join(" ")}]`;
  if (typeof value === "object" && value !== null)
    return `map[${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => `${key}:${goPrinted(inner)}`)
      .join(" ")}]`;
  return value === null ? "<nil>" : String(value);
}
