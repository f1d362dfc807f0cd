// Templates and constraints of a folder, ready to judge. Pure.
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import {
  constraintCRD,
  constraintKindOf,
  type Constraint,
  constraintId,
} from "../../crds/policy-template/constraint.ts";
import { policyTemplateObjects } from "../../crds/policy-template/default-templates.ts";
import { prepareConstraint, type JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { templateFault } from "../../crds/policy-template/lint.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import type { CompiledSchema } from "../../local/apiserver/types.ts";
import type { SourceDocument } from "./documents.ts";
import { checkObject, compileCRD, nameOf, readObject } from "./read-object.ts";

export interface FolderPolicies {
  constraints: JudgingConstraint[];
  /** Sentences with the place; none when all is well. */
  faults: string[];
}

/** Constraints use the templates of the folder, else those that come with the platform. */
export function toFolderPolicies(documents: readonly SourceDocument[], now: Date): FolderPolicies {
  const faults: string[] = [];
  const templates = readTemplates(documents, faults);
  const constraints = new Map<string, JudgingConstraint>();
  for (const document of documents.filter(isConstraint)) {
    const read = readConstraint(document, templates, now);
    if ("faults" in read) faults.push(...read.faults);
    else if (constraints.has(read.id)) faults.push(`${document.where}: there are two constraints ${read.id}`);
    else constraints.set(read.id, read.prepared);
  }
  return { constraints: [...constraints.values()], faults };
}

function isConstraint({ value: { apiVersion } }: SourceDocument): boolean {
  return typeof apiVersion === "string" && apiVersion.startsWith(`${CONSTRAINTS_GROUP}/`);
}

/** Templates by the kind that they make. */
function readTemplates(documents: readonly SourceDocument[], faults: string[]): Map<string, PolicyTemplate> {
  const own = new Map<string, PolicyTemplate>();
  const isTemplate = ({ value }: SourceDocument): boolean =>
    value["kind"] === PolicyTemplate.kind && String(value["apiVersion"]).startsWith(`${PolicyTemplate.group}/`);
  for (const document of documents.filter(isTemplate)) {
    const found = readTemplate(document);
    if ("faults" in found) faults.push(...found.faults);
    else if (own.has(found.template.spec.kind))
      faults.push(`${document.where}: there are two templates ${found.template.metadata.name}`);
    else own.set(found.template.spec.kind, found.template);
  }
  const shipped = policyTemplateObjects().map((value) => readTemplate({ where: "shipped", value }));
  const usable = shipped.flatMap((one) => ("faults" in one ? [] : [[one.template.spec.kind, one.template] as const]));
  return new Map([...usable, ...own]);
}

function readTemplate(document: SourceDocument): { template: PolicyTemplate } | { faults: string[] } {
  const read = readObject(document, PolicyTemplate);
  if ("faults" in read) return read;
  const template = read.object as PolicyTemplate;
  const fault = templateFault(template.spec);
  return fault ? { faults: [`${document.where} (${nameOf(document.value)}): ${fault.message}`] } : { template };
}

const schemas = new WeakMap<PolicyTemplate, CompiledSchema>();

function schemaOf(template: PolicyTemplate): CompiledSchema {
  const known = schemas.get(template) ?? compileCRD(constraintCRD(template));
  schemas.set(template, known);
  return known;
}

function readConstraint(
  document: SourceDocument,
  templates: ReadonlyMap<string, PolicyTemplate>,
  now: Date,
): { id: string; prepared: JudgingConstraint } | { faults: string[] } {
  const kind = String(document.value["kind"]);
  const template = templates.get(kind);
  if (!template)
    return {
      faults: [`${document.where} (${nameOf(document.value)}): no template of the folder makes the kind ${kind}`],
    };
  const read = checkObject(document, apiVersionOf(constraintKindOf(template)), schemaOf(template));
  if ("faults" in read) return read;
  // The verdict names the generation, which the API server gives a new object.
  const metadata = { generation: 1, ...read.object.metadata };
  const constraint = { ...read.object, metadata } as Constraint;
  return { id: constraintId(constraint), prepared: prepareConstraint(template.spec, constraint, now) };
}
