// One definition of a resource kind: its zod schema gives the TypeScript type, the CRD (crd.ts) and the validation.
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

/** A column of `kubectl get`. `wide` columns show with `-o wide` only. */
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
  /** Carries the object's type to client, reader and controller; never set. */
  readonly objectType?: KubeObject & { spec: z.output<Spec>; status?: z.output<Status> & ReadyStatus };
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  /** First paragraph of `kubectl explain`. */
  description: string;
  columns: readonly PrinterColumn[];
  /** Rules over the whole object; `self.metadata.name` is visible there. */
  rules: readonly CelRule[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  /** JSON paths usable in field selectors, besides metadata.name and metadata.namespace. */
  selectableFields: readonly string[];
  spec: Spec;
  status: Status;
}

/** An object of a defined kind, as the API server returns it: defaults are filled in. */
export type Resource<D extends ResourceDefinition> = KubeObject & {
  spec: z.output<D["spec"]>;
  status?: z.output<D["status"]> & ReadyStatus;
};

/** The spec as a writer may send it: defaulted fields may be left out. */
export type SpecInput<D extends ResourceDefinition> = z.input<D["spec"]>;

/** The part of a status that the controller runtime writes for every kind. */
export interface ReadyStatus {
  observedGeneration?: number;
  conditions?: Condition[];
}

type DefinitionInput<Spec extends z.ZodObject, Status extends z.ZodObject> = Pick<
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
 * Defines a kind. `singular` defaults to the lower-cased kind. Every kind shows its Ready condition and age in `kubectl get`,
 * so `columns` names the others only.
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
      { name: "Age", jsonPath: ".metadata.creationTimestamp", type: "date" },
    ],
  };
}

const condition = z.object({
  type: z.string().max(316).describe("What the condition is about, e.g. Ready."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether it holds; Unknown when that cannot be told."),
  reason: z.string().max(1024).describe("Why, in one word for programs."),
  message: z.string().max(32768).describe("Why, for people; says what to do where something is to be done."),
  lastTransitionTime: z.string().max(64).meta({ format: "date-time" }).describe("When the status last changed."),
  observedGeneration: z.int().optional().describe("The generation of the spec that the condition answers."),
});

/** The status of a kind: its own fields beside conditions and observedGeneration. */
export function readyStatus<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({
    ...shape,
    observedGeneration: z.int().optional().describe("The generation of the spec that this status answers."),
    conditions: listMap(z.array(condition).max(32), ["type"])
      .optional()
      .describe("Ready says whether the object is in force; reason and message say why not."),
  });
}

/** A list whose items are told apart by keys, so that two writers can each own items of it. */
export function listMap<T extends z.ZodArray>(schema: T, keys: readonly string[]): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...keys] });
}

/** A list of distinct scalars; each writer owns its own items. */
export function listSet<T extends z.ZodArray>(schema: T): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "set" });
}

/** A list with one owner: replaced whole. */
export function listAtomic<T extends z.ZodArray>(schema: T): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "atomic" });
}

/** Adds CEL rules to a schema. Every string, list and map under a rule must be bounded, or a real API server refuses its cost. */
export function withRules<T extends z.ZodType>(schema: T, rules: readonly CelRule[]): T {
  const before = (schema.meta()?.["x-kubernetes-validations"] ?? []) as CelRule[];
  return schema.meta({ ...schema.meta(), "x-kubernetes-validations": [...before, ...rules] });
}

/**
 * Makes fields of an object immutable, set or unset. The rule sits on the field itself: from the parent, each look at a field
 * costs the API server as much as the parent has fields. Only that an optional one was added or removed is seen from the parent.
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

/** A field's name as CEL rules of Kubernetes write it: reserved words between underscores. */
function celName(field: string): string {
  return CEL_RESERVED.has(field) ? `__${field}__` : field;
}
