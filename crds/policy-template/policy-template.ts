// The PolicyTemplate kind: rules in CEL and the kind of their constraints, in group constraints.cupola.dev (docs/policy.md).
import { z } from "zod";
import { listAtomic, listMap, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { POLICY_ADMIN, POLICY_AUTHOR, POLICY_READER } from "../roles.ts";

const MAX_EXPRESSION = 4096;

const expression = z.string().min(1).max(MAX_EXPRESSION);

/** Terminals print it: it has no control characters. */
const oneLine = (length: number) =>
  z
    .string()
    .min(1)
    .max(length)
    .regex(/^[^\x00-\x1f\x7f-\x9f]+$/);

/** Any JSON object; the API server keeps what it does not know. */
const anyObject = z.unknown().meta({ type: "object", "x-kubernetes-preserve-unknown-fields": true });

const rule = z.object({
  expression: expression.describe(
    "A CEL expression that is true when the object is allowed. Names: object, oldObject, variables.params, variables.org, variables.space, refs.<as>, the template's own variables.",
  ),
  message: oneLine(1024).optional().describe("The sentence of a refusal. Defaults to the number of the rule."),
  messageExpression: expression
    .optional()
    .describe("A CEL expression that gives the sentence; message is the fallback when it fails."),
  field: z.string().max(253).optional().describe("The field that the rule is about, e.g. metadata.labels."),
});

const variable = z.object({
  name: z
    .string()
    .max(63)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .describe("Rules read it as variables.<name>."),
  expression: expression.describe("Its value. It may read variables that stand before it."),
});

export const READ_SCOPES = ["space", "org", "platform"] as const;

const read = z.object({
  as: z
    .string()
    .regex(/^[a-z][A-Za-z0-9]{0,30}$/)
    .describe("Rules read the objects as refs.<as>."),
  kind: z.string().max(63).describe("A kind of group cupola.dev, e.g. Task."),
  scope: z
    .enum(READ_SCOPES)
    .describe("Where the objects are, seen from the judged one: its space, its org, the platform."),
});

const templateSpec = z.object({
  kind: withRules(z.string().regex(/^[A-Z][A-Za-z0-9]{2,40}$/), [
    { rule: "self == oldSelf", message: "kind is immutable; make another template" },
  ]).describe("The kind of its constraints, in group constraints.cupola.dev."),
  title: oneLine(60).describe("Stands before each message of its rules. Users of cf read it."),
  subjects: listAtomic(z.array(z.string().max(63)).min(1).max(10)).describe(
    "Kinds of group cupola.dev that the rules judge, e.g. App.",
  ),
  operations: listAtomic(
    z
      .array(z.enum(["CREATE", "UPDATE"]))
      .min(1)
      .max(2),
  )
    .default(["CREATE", "UPDATE"])
    .describe("The writes that are judged."),
  needs: listAtomic(z.array(z.enum(["user", "oldObject"])).max(2))
    .default([])
    .describe(
      "Facts of a write that the rules read: request.userInfo, oldObject. Audit and cup policy test without them skip the template.",
    ),
  reads: listMap(z.array(read).max(3), ["as"])
    .optional()
    .describe(
      "Other objects that the rules read. No ValidatingAdmissionPolicy can hold such rules: the CF API judges its writes, and no app or task starts that they refuse, whoever wrote it. Only for App, Droplet and Task.",
    ),
  minKubernetes: z
    .string()
    .regex(/^1\.[0-9]{2}$/)
    .default("1.30")
    .describe("The oldest Kubernetes that the expressions work on."),
  parameters: z
    .object({ schema: anyObject.describe("Structural schema of a constraint's spec.parameters, of type object.") })
    .optional()
    .describe("Parameters that constraints give."),
  variables: listMap(z.array(variable).max(20), ["name"])
    .default([])
    .describe("Named expressions that rules share; each is evaluated once, when it is first read."),
  rules: listAtomic(z.array(rule).min(1).max(10)).describe("All rules must hold."),
  scale: expression
    .optional()
    .describe(
      "For Process: the rule on object.spec.replicas for kubectl scale. Without it a deny constraint refuses kubectl scale.",
    ),
});

export const PolicyTemplate = defineKind({
  group: GROUP,
  kind: "PolicyTemplate",
  plural: "policytemplates",
  namespaced: false,
  isReadByAPI: false,
  permissions: [
    { verbs: [...READ, ...WRITE], roles: [POLICY_AUTHOR] },
    { verbs: READ, roles: [POLICY_ADMIN, POLICY_READER] },
  ],
  audit: { outsideWrites: "changes and deletions" },
  shortNames: ["cfpolicy"],
  categories: [CATEGORY],
  description:
    "Rules that an operator may set for apps, routes and other objects. It makes the kind of its constraints; each constraint says where the rules hold and what a violation does.",
  columns: [
    { name: "Kind", jsonPath: ".spec.kind" },
    { name: "Title", jsonPath: ".spec.title" },
    { name: "Subjects", jsonPath: ".spec.subjects" },
  ],
  rules: [
    {
      rule: "self.metadata.name == self.spec.kind.lowerAscii()",
      message: "the name of a PolicyTemplate is its spec.kind in lower case",
    },
  ],
  spec: templateSpec,
  status: readyStatus({
    inForce: z
      .object({
        generation: z.int().describe("metadata.generation of the rules in force."),
        spec: anyObject.describe("A copy of the spec in force."),
      })
      .optional()
      .describe("The last spec that could be compiled. A mistake in spec leaves it in force."),
  }),
});
export type PolicyTemplate = Resource<typeof PolicyTemplate>;
export type PolicyTemplateSpec = PolicyTemplate["spec"];
export type TemplateRead = NonNullable<PolicyTemplateSpec["reads"]>[number];

/** Whether the rules read other objects. Rules that were put in force by an older version have no such field. */
export function hasReads({ reads = [] }: Pick<PolicyTemplateSpec, "reads">): boolean {
  return reads.length > 0;
}
