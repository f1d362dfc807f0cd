// Checks the fields behind the scale subresource of a custom resource.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap } from "../apply/values.ts";
import type { FieldError } from "../types.ts";
import { goPrinted, invalidValue } from "../field-errors.ts";
import type { ScalePaths } from "../registry/types.ts";

const INT32_MAX = 2 ** 31 - 1;

/** Go's names for the types of JSON values. */
function goTypeOf(value: unknown): string {
  if (value === null) return "<nil>";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

interface Looked {
  value?: unknown;
  fault?: string;
}

function lookUp(object: KubeObject, path: string[], type: string): Looked {
  let at: unknown = object;
  for (const [depth, key] of path.entries()) {
    if (at === null) return {};
    if (!isMap(at))
      return {
        fault: `.${path.slice(0, depth + 1).join(".")} accessor error: ${goPrinted(at)} is of the type ${goTypeOf(at)}, expected map[string]interface{}`,
      };
    if (!Object.hasOwn(at, key)) return {};
    at = at[key];
  }
  if (goTypeOf(at) !== type)
    return {
      fault: `.${path.join(".")} accessor error: ${goPrinted(at)} is of the type ${goTypeOf(at)}, expected ${type}`,
    };
  return { value: at };
}

function replicaFaults(object: KubeObject, path: string[]): FieldError[] {
  const field = `.${path.join(".")}`;
  const { value = 0, fault } = lookUp(object, path, "int64");
  if (fault) return [invalidValue(field, 0, fault)];
  if ((value as number) < 0) return [invalidValue(field, value, "should be a non-negative integer")];
  return (value as number) > INT32_MAX
    ? [invalidValue(field, value, `should be less than or equal to ${INT32_MAX}`)]
    : [];
}

/** Faults of the fields behind a scale; a write of the status does not check those of the spec. */
export function scaleFaults(
  object: KubeObject,
  { specReplicas, statusReplicas, selector }: ScalePaths,
  onlyStatus: boolean,
): FieldError[] {
  const found = selector ? lookUp(object, selector, "string") : {};
  return [
    ...(onlyStatus ? [] : replicaFaults(object, specReplicas)),
    ...replicaFaults(object, statusReplicas),
    ...(found.fault && selector ? [invalidValue(`.${selector.join(".")}`, "", found.fault)] : []),
  ];
}
