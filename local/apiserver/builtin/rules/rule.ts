// A rule of a built-in kind, and what several of them are made of: reading untyped parts, ports, texts with a form.
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { KubeObject } from "../../../../kube/api/object.ts";
import type { FieldError } from "../../types.ts";
import { duplicate, invalidValue, required } from "../../field-errors.ts";
import { labelValue, qualifiedName } from "../../registry/names.ts";

/** Faults of an object; `old` is absent for a new one. */
export type Rule = (object: KubeObject, old: KubeObject | undefined) => FieldError[];

export const mapOf = (value: unknown): JsonMap => (isMap(value) ? value : {});
export const listOf = (value: unknown): JsonMap[] => (Array.isArray(value) ? (value as unknown[]).filter(isMap) : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A complaint for each thing that a check of names has to say. */
export const named = (field: string, value: unknown, complaints: string[]): FieldError[] =>
  complaints.map((complaint) => invalidValue(field, value, complaint));

const PORT_RANGE = "must be between 1 and 65535, inclusive";

export function portNumber(field: string, port: unknown): FieldError[] {
  return typeof port === "number" && port >= 1 && port <= 65_535 ? [] : [invalidValue(field, port ?? 0, PORT_RANGE)];
}

/** The problem of a port's name. */
export function portName(name: string): string[] {
  return [
    ...(name.length > 15 ? ["must be no more than 15 characters"] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
    ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
    ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
    ...(/^-|-$/.test(name) ? ["must not begin or end with a hyphen"] : []),
  ];
}

export function portNumberOrName(field: string, port: unknown): FieldError[] {
  return typeof port === "string" ? named(field, port, portName(port)) : portNumber(field, port);
}

/** Labels of something that is no object of its own. */
export function labelRules(labels: unknown, field: string): FieldError[] {
  return Object.entries(mapOf(labels)).flatMap(([key, value]) => [
    ...named(field, key, qualifiedName(key)),
    ...named(field, value, labelValue(String(value))),
  ]);
}

export const notNegative = (field: string, value: unknown): FieldError[] =>
  typeof value === "number" && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : [];

/** A required, valid and unique name. Adds it to `taken`. */
export function uniqueName(
  field: string,
  name: string,
  { form, taken }: { form: (name: string) => string[]; taken: Set<string> },
): FieldError[] {
  if (name === "") return [required(field)];
  const isTaken = taken.has(name);
  taken.add(name);
  return [...named(field, name, form(name)), ...(isTaken ? [duplicate(field, name)] : [])];
}

/** As Go prints maps: keys in order. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  return isMap(value)
    ? Object.fromEntries(
        Object.keys(value)
          .toSorted()
          .map((key) => [key, sorted(value[key])]),
      )
    : value;
}
