// The definition of a custom kind. One zod schema gives the TypeScript type, the CRD (crd.ts) and the validation.
import { z } from "zod";
import type { Condition, KubeObject } from "./object.ts";
import type { ResourceRef } from "./resource-ref.ts";

/** A CEL rule of the schema (`x-kubernetes-validations`). */
export interface CelRule {
  rule: string;
  message: string;
  messageExpression?: string;
  reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  fieldPath?: string;
}

/** A column of `kubectl get`. `wide` columns need `-o wide`. */
export interface PrinterColumn {
  name: string;
  jsonPath: string;
  type?: "string" | "integer" | "number" | "boolean" | "date";
  description?: string;
  wide?: boolean;
}

export interface ResourceDefinition<
  Spec extends z.ZodObject = z.ZodObject,
  Status extends z.ZodObject = z.ZodObject,
> extends ResourceRef {
  /** Phantom field with the object's type; never set. */
  readonly objectType?: KubeObject & { spec: z.output<Spec>; status?: z.output<Status> & ReadyStatus };
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  /** First paragraph of `kubectl explain`. */
  description: string;
  columns: readonly PrinterColumn[];
  /** Rules over the whole object; they can read `self.metadata.name`. */
  rules: readonly CelRule[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  /** JSON paths for field selectors, besides metadata.name and metadata.namespace. */
  selectableFields: readonly string[];
  spec: Spec;
  status: Status;
}

/** An object of the kind as the API server returns it, with defaults. */
export type Resource<D extends ResourceDefinition> = KubeObject & {
  spec: z.output<D["spec"]>;
  status?: z.output<D["status"]> & ReadyStatus;
};

/** The spec as a writer sends it: fields with defaults are optional. */
export type SpecInput<D extends ResourceDefinition> = z.input<D["spec"]>;

/** The status fields that the controller runtime writes. */
export interface ReadyStatus {
  observedGeneration?: number;
  conditions?: Condition[];
}

export type DefinitionInput<Spec extends z.ZodObject, Status extends z.ZodObject> = Pick<
  ResourceDefinition<Spec, Status>,
  "group" | "kind" | "plural" | "namespaced" | "description" | "spec" | "status"
> &
  Partial<
    Pick<
      ResourceDefinition,
      "version" | "singular" | "shortNames" | "categories" | "columns" | "rules" | "scale" | "selectableFields"
    >
  >;

/**
 * Defines a kind. `singular` defaults to the lower-cased kind. Columns for the Ready condition and the age are added to `columns`.
 */
export function defineResource<Spec extends z.ZodObject, Status extends z.ZodObject>(
  input: DefinitionInput<Spec, Status>,
): ResourceDefinition<Spec, Status> {
  return {
    version: "v1alpha1",
    singular: input.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    rules: [],
    selectableFields: [],
    ...input,
    columns: [
      ...(input.columns ?? []),
      { name: "Ready", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: "Reason", jsonPath: '.status.conditions[?(@.type=="Ready")].reason', wide: true },
      { name: "Message", jsonPath: '.status.conditions[?(@.type=="Ready")].message', wide: true },
      { name: "Age", jsonPath: ".metadata.creationTimestamp", type: "date" },
    ],
  };
}

const condition = z.object({
  type: z.string().max(316).describe("Type of the condition, e.g. Ready."),
  status: z
    .enum(["True", "False", "Unknown"])
    .describe("Status of the condition; Unknown when it cannot be determined."),
  reason: z.string().max(1024).describe("Machine-readable reason, one CamelCase word."),
  message: z.string().max(32768).describe("Human-readable reason, with the next step where there is one."),
  lastTransitionTime: z.string().max(64).meta({ format: "date-time" }).describe("When the status last changed."),
  observedGeneration: z.int().optional().describe("metadata.generation that the condition reflects."),
});

/** Status schema of a kind: its own fields plus conditions and observedGeneration. */
export function readyStatus<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    ...shape,
    observedGeneration: z.int().optional().describe("metadata.generation that this status reflects."),
    conditions: listMap(z.array(condition).max(32), ["type"])
      .optional()
      .describe("Ready says whether the object is in force; reason and message say why not."),
  });
}

/** A list merged by key fields, so that several writers can own items. */
export function listMap<T extends z.ZodArray>(schema: T, keys: readonly string[]): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...keys] });
}

/** A list of distinct scalars, so that several writers can own items. */
export function listSet<T extends z.ZodArray>(schema: T): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "set" });
}

/** A list with one owner, always replaced as a whole. */
export function listAtomic<T extends z.ZodArray>(schema: T): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "atomic" });
}

/** Adds CEL rules to a schema. Bound every string, list and map under a rule, or the API server rejects its cost. */
export function withRules<T extends z.ZodType>(schema: T, rules: readonly CelRule[]): T {
  const before = (schema.meta()?.["x-kubernetes-validations"] ?? []) as CelRule[];
  return schema.meta({ ...schema.meta(), "x-kubernetes-validations": [...before, ...rules] });
}

/**
 * Makes fields immutable, set or unset. The rule is on the field: a rule on the parent would cost as much as all its fields.
 * Only the parent can see that an optional field was added or removed.
 */
export function immutable<T extends z.ZodObject>(schema: T, ...fields: readonly (keyof z.output<T> & string)[]): T {
  const fixed = fields.map(
    (field) =>
      [
        field,
        withRules(schema.shape[field] as z.ZodType, [{ rule: "self == oldSelf", message: `${field} is immutable` }]),
      ] as const,
  );
  const optional = fixed.filter(([, field]) => field instanceof z.ZodOptional);
  return withRules(
    schema.extend(Object.fromEntries(fixed)).meta(schema.meta() ?? {}) as unknown as T,
    optional.map(([field]) => presenceRule(field)),
  );
}

function presenceRule(field: string): CelRule {
  const name = celName(field);
  return {
    rule: `has(self.${name}) == has(oldSelf.${name})`,
    message: `${field} is immutable`,
    fieldPath: `.${field}`,
  };
}

const CEL_RESERVED = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** A field name in Kubernetes CEL: reserved words get underscores. */
function celName(field: string): string {
  return CEL_RESERVED.has(field) ? `__${field}__` : field;
}
