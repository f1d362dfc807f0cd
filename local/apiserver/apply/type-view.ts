// How an OpenAPI schema looks to merging: scalar, list (atomic, set, map) or map (granular, atomic). Lazily built, once per schema node.
import type { JsonSchema } from "../types.ts";

export interface ListView {
  relation: "atomic" | "set" | "map";
  /** Keys of a list-map, sorted as field sets print them. */
  keys: string[];
  element(): TypeView;
}

export interface MapView {
  atomic: boolean;
  /** A declared field. */
  field(name: string): TypeView | undefined;
  /** Values of undeclared fields; undefined when the map is closed. */
  element?: () => TypeView;
}

export type ScalarType = "string" | "integer" | "number" | "boolean" | "any";

/** More than one part is set only where the schema says nothing: then the value decides. */
export interface TypeView {
  scalar?: ScalarType;
  list?: ListView;
  map?: MapView;
  default?: unknown;
  /** The schema node, for those who need more (required, patch strategies). */
  schema: JsonSchema;
  /** The name of the referenced schema, when there is one. */
  name?: string;
}

/** Finds `#/components/schemas/<name>`. */
export type Resolve = (name: string) => JsonSchema | undefined;

const REF = "#/components/schemas/";

const untypedAtomic: TypeView = {
  schema: {},
  scalar: "any",
  list: { relation: "atomic", keys: [], element: () => untypedAtomic },
  map: { atomic: true, field: () => undefined, element: () => untypedAtomic },
};

/** A value without a schema: maps merge by key, lists are atomic. */
export const untyped: TypeView = {
  schema: {},
  scalar: "any",
  list: { relation: "atomic", keys: [], element: () => untypedAtomic },
  map: { atomic: false, field: () => undefined, element: () => untyped },
};

/** Fields of every object, nested ones too. */
const EMBEDDED: Record<string, JsonSchema> = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { allOf: [{ $ref: `${REF}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta` }] },
};

const openedSchemas = new WeakMap<JsonSchema, JsonSchema>();

/** A map inside a value that allows unknown fields allows them, too, though they are pruned later. */
function opened(schema: JsonSchema): JsonSchema {
  if (schema.type !== "object" || schema.additionalProperties !== undefined) return schema;
  let open = openedSchemas.get(schema);
  if (!open) openedSchemas.set(schema, (open = { ...schema, "x-kubernetes-preserve-unknown-fields": true }));
  return open;
}

function listView(schema: JsonSchema, viewOf: (schema: JsonSchema) => TypeView): ListView {
  const element = () => viewOf((schema.items ?? {}) as JsonSchema);
  const declared = schema["x-kubernetes-list-type"];
  if (declared === "map")
    return { relation: "map", keys: ((schema["x-kubernetes-list-map-keys"] ?? []) as string[]).toSorted(), element };
  if (declared === "set") return { relation: "set", keys: [], element };
  if (declared === undefined && String(schema["x-kubernetes-patch-strategy"] ?? "").startsWith("merge")) {
    const key = schema["x-kubernetes-patch-merge-key"] as string | undefined;
    return key ? { relation: "map", keys: [key], element } : { relation: "set", keys: [], element };
  }
  return { relation: "atomic", keys: [], element };
}

/** Makes views of one set of schemas. */
export function createViews(resolve: Resolve): (schema: JsonSchema) => TypeView {
  const cache = new WeakMap<JsonSchema, TypeView>();

  function viewOf(schema: JsonSchema): TypeView {
    let view = cache.get(schema);
    if (!view) cache.set(schema, (view = build(schema)));
    return view;
  }

  function build(schema: JsonSchema): TypeView {
    const name = refOf(schema);
    if (name !== undefined) return referenced(schema, name);
    const base = { schema, ...("default" in schema && { default: schema.default }) };
    if (isIntOrString(schema)) return { ...base, scalar: "any" };
    switch (schema.type) {
      case "object":
        return { ...base, ...objectView(schema) };
      case "array":
        return { ...base, list: listView(schema, viewOf) };
      default:
        return otherView(schema, base);
    }
  }

  function otherView(schema: JsonSchema, base: Pick<TypeView, "schema" | "default">): TypeView {
    const { type } = schema;
    if (type === "string" || type === "integer" || type === "number" || type === "boolean")
      return { ...base, scalar: type };
    return schema.properties ? { ...base, ...objectView(schema) } : { ...untyped, ...base };
  }

  function referenced(schema: JsonSchema, name: string): TypeView {
    const target = resolve(name);
    if (!target) return untyped;
    const view = viewOf(target);
    const own = { ...view, name, ...("default" in schema && { default: schema.default }) };
    return schema["x-kubernetes-map-type"] === "atomic" && view.map
      ? { ...own, map: { ...view.map, atomic: true } }
      : own;
  }

  function objectView(schema: JsonSchema): Pick<TypeView, "map"> {
    const properties = {
      ...(schema["x-kubernetes-embedded-resource"] === true && EMBEDDED),
      ...(schema.properties as Record<string, JsonSchema> | undefined),
    };
    const extra = schema.additionalProperties;
    const open =
      schema["x-kubernetes-preserve-unknown-fields"] === true ||
      (Object.keys(properties).length === 0 && extra === undefined);
    const inside = schema["x-kubernetes-preserve-unknown-fields"] === true ? opened : (each: JsonSchema) => each;
    const map: MapView = {
      atomic: schema["x-kubernetes-map-type"] === "atomic",
      field: (name) => (Object.hasOwn(properties, name) ? viewOf(inside(properties[name] ?? {})) : undefined),
    };
    if (typeof extra === "object" && extra !== null) map.element = () => viewOf(extra as JsonSchema);
    else if (open || extra === true) map.element = () => untyped;
    return { map };
  }

  return viewOf;
}

/** The name a schema refers to, directly or as the single member of `allOf` (as Kubernetes writes references with a description). */
function refOf(schema: JsonSchema): string | undefined {
  if (typeof schema.$ref === "string") return schema.$ref.slice(REF.length);
  const all = schema.allOf;
  if (schema.type === undefined && schema.properties === undefined && Array.isArray(all) && all.length === 1) {
    const only = all[0] as JsonSchema;
    if (typeof only.$ref === "string") return only.$ref.slice(REF.length);
  }
  return undefined;
}

function isIntOrString(schema: JsonSchema): boolean {
  return schema["x-kubernetes-int-or-string"] === true || schema.format === "int-or-string" || isScalarUnion(schema);
}

function isScalarUnion(schema: JsonSchema): boolean {
  const options = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined;
  return (
    schema.type === undefined &&
    Array.isArray(options) &&
    options.length > 0 &&
    options.every((option) => ["string", "number", "integer"].includes(String(option.type)))
  );
}

/** The part of a view that fits a value; undefined when none does. `null` fits everything. */
export function partOf(view: TypeView, value: unknown): "scalar" | "list" | "map" | undefined {
  if (value === null || value === undefined)
    return (["map", "scalar", "list"] as const).find((part) => view[part] !== undefined);
  const part = Array.isArray(value) ? "list" : typeof value === "object" ? "map" : "scalar";
  return view[part] === undefined ? undefined : part;
}
