// An object of a file as the API server would store it: with the defaults of its schema, or its faults. Pure.
import { toCustomResourceDefinition } from "../../kube/api/crd.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { ResourceDefinition } from "../../kube/api/resource.ts";
import { compileSchema } from "../../local/apiserver/schema/compile.ts";
import type { CompiledSchema, FieldError, JsonSchema } from "../../local/apiserver/types.ts";
import type { SourceDocument } from "./documents.ts";

export type ReadObject = { object: KubeObject } | { faults: string[] };

const compiled = new WeakMap<ResourceDefinition, CompiledSchema>();

/** Reads an object of one of our kinds. */
export function readObject(document: SourceDocument, definition: ResourceDefinition): ReadObject {
  const schema = compiled.get(definition) ?? compileCRD(toCustomResourceDefinition(definition));
  compiled.set(definition, schema);
  return checkObject(document, apiVersionOf(definition), schema);
}

/** The schema of a CRD with one version. */
export function compileCRD(crd: KubeObject): CompiledSchema {
  const { versions } = crd["spec"] as { versions: { schema: { openAPIV3Schema: JsonSchema } }[] };
  return compileSchema(versions[0]?.schema.openAPIV3Schema ?? { type: "object" });
}

/** Prunes, sets defaults and validates, as the API server does. The document stays as it is. */
export function checkObject({ where, value }: SourceDocument, apiVersion: string, schema: CompiledSchema): ReadObject {
  const object = structuredClone(value) as unknown as KubeObject;
  const place = `${where} (${nameOf(value)})`;
  const fault = headFault(value, apiVersion);
  if (fault !== undefined) return { faults: [`${place}: ${fault}`] };
  const unknown = schema.prune(object).map((field) => `there is no field ${field}`);
  schema.applyDefaults(object);
  const faults = [...unknown, ...schema.validate(object).filter(hasField).map(toText)];
  return faults.length === 0 ? { object } : { faults: faults.map((text) => `${place}: ${text}`) };
}

/** The API server adds that it left out rules, which says nothing more about the object. */
function hasField({ field }: FieldError): boolean {
  return field !== "<nil>";
}

function toText({ field, message }: FieldError): string {
  return `${field}: ${message}`;
}

/** `App shop`, as far as the document says it. */
export function nameOf(value: Record<string, unknown>): string {
  const { kind, metadata } = value as { kind?: unknown; metadata?: { name?: unknown } | null };
  return [kind, metadata?.name].filter((part) => typeof part === "string").join(" ");
}

function headFault(value: Record<string, unknown>, apiVersion: string): string | undefined {
  if (value["apiVersion"] !== apiVersion) return `apiVersion must be ${apiVersion}`;
  const { name, namespace, labels } = (value["metadata"] ?? {}) as Record<string, unknown>;
  if (typeof name !== "string" || name === "") return "metadata.name is missing";
  if (namespace !== undefined && typeof namespace !== "string") return "metadata.namespace must be text";
  return labels === undefined || isMapOfTexts(labels) ? undefined : "metadata.labels must be a map of texts";
}

function isMapOfTexts(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === "string")
  );
}
