// The published schemas of Kubernetes' own kinds (schemas.json, generated), and views of them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createViews, type TypeView, untyped } from "../apply/type-view.ts";
import type { JsonSchema } from "../types.ts";

let loaded: Record<string, JsonSchema> | undefined;

/** All schemas by their full name. Read on first use. */
export function builtinSchemas(): Record<string, JsonSchema> {
  return (loaded ??= JSON.parse(readFileSync(join(import.meta.dirname, "schemas.json"), "utf8")) as Record<
    string,
    JsonSchema
  >);
}

const viewOf = createViews((name) => builtinSchemas()[name]);

const named = new Map<string, TypeView>();

export function builtinView(name: string): TypeView {
  let view = named.get(name);
  if (!view) {
    const schema = builtinSchemas()[name];
    named.set(name, (view = schema ? { ...viewOf(schema), name } : untyped));
  }
  return view;
}

/** The full name of a kind's schema. */
export function schemaOfKind(group: string, version: string, kind: string): string | undefined {
  return Object.entries(builtinSchemas()).find(([, schema]) => {
    const gvks = (schema["x-kubernetes-group-version-kind"] ?? []) as {
      group: string;
      version: string;
      kind: string;
    }[];
    return gvks.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind);
  })?.[0];
}

/** A view of a schema that may refer to the built-in ones. */
export function viewOfSchema(schema: JsonSchema): TypeView {
  return viewOf(schema);
}

export const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
