// Constraints: objects of the kinds that PolicyTemplates make. The kinds are CRDs at run time; match, parameters and enforcement are separate parts of the spec.
import { z } from "zod";
import { toCustomResourceDefinition, type SchemaNode } from "../../kube/api/crd.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { defineResource, listAtomic, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, CONSTRAINTS_GROUP } from "../groups.ts";
import { toServedSchema } from "./regex-parameters.ts";
import { hasReads, type PolicyTemplate, type PolicyTemplateSpec } from "./policy-template.ts";

export const MAX_VIOLATIONS = 20;

/** `*` stands at one end, or for everything. */
const pattern = z
  .string()
  .min(1)
  .max(320)
  .regex(/^(\*?[-a-z0-9./]+|[-a-z0-9./]+\*|\*)$/);

const labels = z.record(z.string().max(317), z.string().max(63)).meta({ maxProperties: 20 });

const selector = z.object({
  matchLabels: labels.optional().describe("Labels that must have these values."),
  matchExpressions: listAtomic(
    z
      .array(
        z.object({
          key: z.string().min(1).max(317).describe("Key of the label."),
          operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("Relation of the label to values."),
          values: listAtomic(z.array(z.string().max(63)).max(20))
            .optional()
            .describe("For In and NotIn."),
        }),
      )
      .max(20),
  )
    .optional()
    .describe("Conditions on labels."),
});

const exception = z.object({
  space: z
    .string()
    .max(320)
    .regex(/^[a-z0-9][-a-z0-9.]*\/[a-z0-9][-a-z0-9.]*$/)
    .describe("The space, as org/space by object names."),
  name: z.string().max(253).optional().describe("metadata.name of one object; all of the space without it."),
  until: z.string().max(64).meta({ format: "date-time" }).optional().describe("When the exception ends."),
  reason: z.string().min(1).max(253).describe("Why, e.g. the number of a ticket."),
});

const match = z.object({
  orgs: listAtomic(z.array(pattern).min(1).max(50)).optional().describe("Object names of orgs; * at one end."),
  spaces: listAtomic(z.array(pattern).min(1).max(50))
    .optional()
    .describe("Spaces as org/space by object names; * at one end."),
  orgLabels: selector.optional().describe("Labels of the org."),
  spaceLabels: selector.optional().describe("Labels of the space."),
  objectLabels: selector.optional().describe("Labels of the judged object."),
  except: listAtomic(z.array(exception).max(50)).optional().describe("Objects and spaces that are exempt."),
});

const action = z.enum(["deny", "warn", "dryrun"]);
export const POINTS = ["write", "start", "audit", "ci"] as const;

const enforcement = z.object({
  action: action
    .default("deny")
    .describe("deny refuses the write, warn tells the writer, dryrun only shows in status.violations."),
  points: listMap(
    z
      .array(
        z.object({
          point: z
            .enum(POINTS)
            .describe(
              "write: any door of the API server. start: of an app or a task, for templates with reads, and for others where it is named. audit. ci: cup policy test.",
            ),
          action: action.describe("The action at this point."),
        }),
      )
      .max(POINTS.length),
    ["point"],
  )
    .optional()
    .describe("Other actions at single points."),
});

const violation = z.object({
  kind: z.string().max(63).describe("Kind of the object."),
  namespace: z.string().max(63).optional().describe("Namespace of the object."),
  name: z.string().max(253).describe("Name of the object."),
  action: action.describe("What the constraint does about it."),
  message: z.string().max(5120).describe("Why it violates the constraint."),
});

const constraintSpec = z.object({
  match: match.optional().describe("Where the rules hold; all given parts must match. Everywhere without it."),
  enforcement: enforcement.default({ action: "deny" }).describe("What a violation does."),
});

const constraintStatus = readyStatus({
  enforced: z.boolean().optional().describe("Whether every door applies the constraint as it stands in spec."),
  by: z
    .enum(["ValidatingAdmissionPolicy", "StartGate"])
    .optional()
    .describe("What holds the rules: an admission policy at every write, or the gate at the start of apps and tasks."),
  templateGeneration: z.int().optional().describe("Generation of the template's rules that are in force."),
  audit: z
    .object({
      at: z.string().max(64).meta({ format: "date-time" }).describe("When the last audit that changed this ended."),
      objects: z.int().describe("Objects of its subjects that were judged, when violations last changed."),
      unknown: z.int().optional().describe("Objects of them that could not be judged, since others could not be read."),
    })
    .optional()
    .describe("The last audit of stored objects."),
  totalViolations: z.int().min(0).optional().describe("The number of stored objects that violate the constraint."),
  violations: listAtomic(z.array(violation).max(MAX_VIOLATIONS))
    .optional()
    .describe(`The first ${MAX_VIOLATIONS} of them, by namespace and name.`),
});

/** A kind of constraints, before its template's parameters are known. */
function defineConstraintKind(kind: string, title: string) {
  return defineResource({
    group: CONSTRAINTS_GROUP,
    kind,
    plural: kind.toLowerCase(),
    namespaced: false,
    categories: ["constraints", CATEGORY],
    description: `${title}: says where the rules of the PolicyTemplate ${kind.toLowerCase()} hold and what a violation does.`,
    columns: [
      { name: "Action", jsonPath: ".spec.enforcement.action" },
      { name: "Enforced", jsonPath: '.status.conditions[?(@.type=="Enforced")].status' },
      { name: "Violations", jsonPath: ".status.totalViolations", type: "integer" },
    ],
    rules: [{ rule: "self.metadata.name.size() <= 63", message: "the name of a constraint has at most 63 characters" }],
    spec: constraintSpec,
    status: constraintStatus,
  });
}

type ConstraintKind = ReturnType<typeof defineConstraintKind>;
export type Constraint = Resource<ConstraintKind> & { spec: { parameters?: Record<string, unknown> } };
export type ConstraintMatch = NonNullable<Constraint["spec"]["match"]>;
export type ConstraintSelector = NonNullable<ConstraintMatch["objectLabels"]>;
export type Action = z.output<typeof action>;
export type Point = (typeof POINTS)[number];

/** The kind of a template's constraints. */
export function constraintKindOf(template: { spec: Pick<PolicyTemplate["spec"], "kind" | "title"> }): ConstraintKind {
  return defineConstraintKind(template.spec.kind, template.spec.title);
}

const crds = new WeakMap<PolicyTemplate["spec"], KubeObject>();

/** The CRD of a template's constraints. Remembered for as long as the template's spec: each reconcile asks twice. */
export function constraintCRD(template: { spec: PolicyTemplate["spec"] }): KubeObject {
  const known = crds.get(template.spec);
  if (known) return known;
  const crd = makeConstraintCRD(template);
  crds.set(template.spec, crd);
  return crd;
}

function makeConstraintCRD(template: { spec: PolicyTemplate["spec"] }): KubeObject {
  const crd = toCustomResourceDefinition(constraintKindOf(template));
  const version = (crd["spec"] as { versions: SchemaNode[] }).versions[0];
  setParameters(version, template.spec.parameters?.schema as SchemaNode | undefined);
  return crd;
}

/** A constraint's parameters are required as far as the template's schema requires any. */
function setParameters(version: SchemaNode | undefined, schema: SchemaNode | undefined): void {
  if (!schema) return;
  const { openAPIV3Schema } = (version?.["schema"] ?? {}) as { openAPIV3Schema: SchemaNode };
  const spec = (openAPIV3Schema["properties"] as Record<string, SchemaNode>)["spec"];
  if (!spec) return;
  (spec["properties"] as Record<string, SchemaNode>)["parameters"] = {
    description: "Parameters of the template's rules.",
    ...toServedSchema(schema),
  };
  const isRequired = ((schema["required"] as unknown[] | undefined) ?? []).length > 0;
  if (!isRequired) return;
  spec["required"] = ["parameters"];
  delete spec["default"];
  openAPIV3Schema["required"] = ["spec"];
}

/** The action of the constraint at a point. */
export function actionAt({ spec }: Constraint, point: Point): Action {
  return spec.enforcement.points?.find((one) => one.point === point)?.action ?? spec.enforcement.action;
}

/** The action at the start of an app or a task; undefined when the constraint is not asked there. */
export function actionAtStart(template: PolicyTemplateSpec, constraint: Constraint): Action | undefined {
  const isNamed = constraint.spec.enforcement.points?.some(({ point }) => point === "start") ?? false;
  return isNamed || hasReads(template) ? actionAt(constraint, "start") : undefined;
}

/** The name of a constraint among all kinds. */
export function constraintId({ kind, metadata }: Pick<Constraint, "kind" | "metadata">): string {
  return `${kind}/${metadata.name}`;
}

/** Names the constraint and the rules as they stand, in the reports of replicas. */
export function constraintVersion({ metadata }: Constraint, templateGeneration: number | undefined): string {
  return `${metadata.uid}/${metadata.generation}/${templateGeneration ?? 0}`;
}
