// Suites of Gatekeeper's gator from a folder: tests of templates with CEL, as our templates and constraints with a subject that only tests have.
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { JudgingConstraint } from "../../../../crds/policy-template/evaluate.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../../../crds/policy-template/policy-template.ts";
import type { KubeObject } from "../../../../kube/api/object.ts";
import { constrain } from "../places.ts";
import type { Write } from "../policy-world.ts";

export interface Assertion {
  /** A number, at least one, or none. */
  violations: number | "yes" | "no";
  /** A regular expression for the violations that count. */
  message?: string | undefined;
}

export interface SuiteCase {
  name: string;
  write: Write;
  assertions: Assertion[];
}

export interface SuiteTest {
  name: string;
  constraint: JudgingConstraint;
  cases: SuiteCase[];
}

export interface Suite {
  /** Folder of the suite, below the folder that was named. */
  name: string;
  tests: SuiteTest[];
}

const ENGINE = "K8sNativeValidation";

const expression = z.object({
  expression: z.string(),
  message: z.string().optional(),
  messageExpression: z.string().optional(),
});
const celSource = z.object({
  variables: z.array(z.object({ name: z.string(), expression: z.string() })).default([]),
  validations: z.array(expression),
});
const templateFile = z.object({
  spec: z.object({
    crd: z.object({
      spec: z.object({
        names: z.object({ kind: z.string() }),
        validation: z.object({ openAPIV3Schema: z.looseObject({}) }).optional(),
      }),
    }),
    targets: z.array(z.object({ code: z.array(z.object({ engine: z.string(), source: z.unknown() })).default([]) })),
  }),
});
const constraintFile = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    match: z.object({ kinds: z.array(z.object({ kinds: z.array(z.string()) })) }),
    parameters: z.record(z.string(), z.unknown()).default({}),
  }),
});
const suiteFile = z.object({
  tests: z.array(
    z.object({
      name: z.string(),
      template: z.string(),
      constraint: z.string(),
      cases: z.array(
        z.object({
          name: z.string(),
          object: z.string(),
          assertions: z.array(
            z.object({
              violations: z.union([z.int(), z.enum(["yes", "no"])]).default("yes"),
              message: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});
const kubeObject = z.looseObject({
  kind: z.string(),
  apiVersion: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
const review = z.object({
  kind: z.literal("AdmissionReview"),
  request: z.object({ operation: z.enum(["CREATE", "UPDATE"]), object: kubeObject, oldObject: kubeObject.optional() }),
});

/** All suites below a folder that have tests of templates with CEL. */
export function readSuites(folder: string): Suite[] {
  return globSync("**/suite.yaml", { cwd: folder })
    .toSorted()
    .map((path) => ({ name: dirname(path), tests: readTests(join(folder, path)) }))
    .filter(({ tests }) => tests.length > 0);
}

/** The first document of a file. */
const readYaml = (path: string): unknown => parse(readFileSync(path, "utf8"), { maxAliasCount: 100 });

function readTests(path: string): SuiteTest[] {
  const at = (file: string): string => join(dirname(path), file);
  return suiteFile.parse(readYaml(path)).tests.flatMap(({ name, template, constraint, cases }) => {
    const text = readFileSync(at(template), "utf8");
    // Some templates in Rego are no YAML that every parser takes.
    if (!text.includes(ENGINE)) return [];
    const { metadata, spec } = constraintFile.parse(readYaml(at(constraint)));
    const kinds = spec.match.kinds.flatMap((one) => one.kinds);
    const rules = toTemplate(parse(text), kinds);
    if (!rules) return [];
    return [
      {
        name,
        constraint: constrain(rules, metadata.name, { parameters: spec.parameters, enforcement: { action: "warn" } }),
        cases: cases.map((one) => ({ ...one, write: toWrite(readYaml(at(one.object))) })),
      },
    ];
  });
}

/** Our template of the same rules; undefined when it has none in CEL. */
function toTemplate(document: unknown, subjects: string[]): PolicyTemplateSpec | undefined {
  const { crd, targets } = templateFile.parse(document).spec;
  const code = targets.flatMap((target) => target.code).find(({ engine }) => engine === ENGINE);
  if (!code) return undefined;
  const { variables, validations } = celSource.parse(code.source);
  // Not through our schema: theirs have more variables, longer kinds and longer expressions.
  return {
    kind: crd.spec.names.kind,
    title: crd.spec.names.kind,
    subjects,
    operations: ["CREATE", "UPDATE"],
    needs: [],
    minKubernetes: PolicyTemplate.spec.shape.minKubernetes.parse(undefined),
    ...(crd.spec.validation && { parameters: { schema: crd.spec.validation.openAPIV3Schema } }),
    variables,
    rules: validations,
  };
}

/** An object is judged as created; a review says itself. Its old object may be left out: then it is one without a spec. */
function toWrite(document: unknown): Write {
  const asReview = review.safeParse(document);
  if (!asReview.success) return { object: kubeObject.parse(document) as KubeObject };
  const { operation, object, oldObject } = asReview.data.request;
  if (operation === "CREATE") return { object: object as KubeObject };
  const { apiVersion, kind, metadata } = object;
  const old = oldObject ?? { apiVersion, kind, metadata: { name: metadata.name } };
  return { object: object as KubeObject, oldObject: old as KubeObject };
}

/** As gator judges: the violations whose message matches are counted. */
export function holds({ violations, message }: Assertion, messages: readonly string[]): boolean {
  const count = messages.filter((one) => message === undefined || new RegExp(message).test(one)).length;
  if (typeof violations === "number") return count === violations;
  return violations === "yes" ? count > 0 : count === 0;
}
