// Faults of a PolicyTemplate, found before it makes a kind: expressions that do not compile or read what not every door has, and schemas without bounds.
import type { ASTNode } from "@marcbachmann/cel-js";
import { checkExpression } from "../../kube/cel/check.ts";
import { operandsOf } from "../../kube/cel/names.ts";
import { compileExpression } from "../../kube/cel/program.ts";
import { newestFeature } from "../../kube/cel/versions.ts";
import type { ValueShape } from "../../kube/cel/values.ts";
import { RESERVED_VARIABLES } from "./match-expressions.ts";
import type { PolicyTemplateSpec, TemplateRead } from "./policy-template.ts";
import { DEFINITIONS } from "../definitions.ts";
import { schemaFault } from "./schema-bounds.ts";
import { findSubject, GATED_KINDS, listSubjects } from "./subjects.ts";

export interface TemplateFault {
  reason: "InvalidRule" | "InvalidSchema" | "InvalidSubject" | "InvalidKind" | "InvalidReads";
  /** Says where and what to do. */
  message: string;
}

/** The first fault of a template; undefined when it can be put in force. */
export function templateFault(spec: PolicyTemplateSpec): TemplateFault | undefined {
  return (
    kindFault(spec) ??
    subjectFault(spec) ??
    readsFault(spec) ??
    schemaPartFault(spec) ??
    variableFault(spec) ??
    ruleFault(spec) ??
    scaleFault(spec)
  );
}

/** Kinds of Kubernetes that a short `kubectl get` would no longer find. */
const KUBERNETES_KINDS: ReadonlySet<string> = new Set(
  [
    ...["Pod", "Service", "Secret", "ConfigMap", "Namespace", "Node", "Event", "Lease", "Job", "CronJob", "Ingress"],
    ...["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "NetworkPolicy", "ServiceAccount", "Endpoints"],
    ...["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "List", "Status"],
    ...["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"],
  ].map((kind) => kind.toLowerCase()),
);

/** kubectl finds kinds by short names as well: a constraint's kind may hide none of ours or of Kubernetes. */
function kindFault({ kind }: PolicyTemplateSpec): TemplateFault | undefined {
  const name = kind.toLowerCase();
  const isTaken =
    KUBERNETES_KINDS.has(name) ||
    name.endsWith("list") ||
    DEFINITIONS.some(({ singular, plural, shortNames }) => [singular, plural, ...shortNames].includes(name));
  return isTaken
    ? {
        reason: "InvalidKind",
        message: `spec.kind: ${kind} is the name of another kind, or ends in List; choose another`,
      }
    : undefined;
}

function subjectFault({ subjects }: PolicyTemplateSpec): TemplateFault | undefined {
  const wrong = subjects.find((kind) => !findSubject(kind));
  if (wrong === undefined) return undefined;
  return {
    reason: "InvalidSubject",
    message: `spec.subjects: ${wrong} cannot be judged; the kinds are ${listSubjects().join(", ")}`,
  };
}

/** Rules that read other objects are judged again at a start, as a creation that nobody asks for. */
function readsFault(spec: PolicyTemplateSpec): TemplateFault | undefined {
  const { reads = [], subjects, needs, operations } = spec;
  if (reads.length === 0) return undefined;
  const other = subjects.find((kind) => !GATED_KINDS.includes(kind));
  if (other !== undefined)
    return invalidReads(
      "spec.subjects",
      `rules with reads judge ${GATED_KINDS.join(", ")} alone, which no start gate passes by`,
    );
  const [need] = needs;
  if (need !== undefined)
    return invalidReads("spec.needs", `${need} is not known at the start of an app, where rules with reads are judged`);
  if (!operations.includes("CREATE"))
    return invalidReads(
      "spec.operations",
      "add CREATE: at the start of an app rules with reads judge as for a creation",
    );
  const faults = reads.map((read, index) => ({ index, fault: readFault(read) }));
  const wrong = faults.find(({ fault }) => fault !== undefined);
  return wrong?.fault === undefined ? undefined : invalidReads(`spec.reads[${wrong.index}]`, wrong.fault);
}

const invalidReads = (field: string, problem: string): TemplateFault => ({
  reason: "InvalidReads",
  message: `${field}: ${problem}`,
});

function readFault({ kind, scope }: TemplateRead): string | undefined {
  const definition = findSubject(kind);
  if (!definition) return `kind: ${kind} cannot be read; the kinds are ${listSubjects().join(", ")}`;
  const { namespaced, livesIn = ["space", "org", "system"] } = definition;
  const has = {
    space: livesIn.includes("space"),
    org: livesIn.includes("space") || livesIn.includes("org"),
    platform: true,
  };
  if (namespaced ? has[scope] : scope === "platform") return undefined;
  return `scope: no ${kind} is in ${scope === "org" ? "an org" : "a space"}; ${namespaced && has.org ? "use org or platform" : "use platform"}`;
}

function schemaPartFault({ parameters }: PolicyTemplateSpec): TemplateFault | undefined {
  if (!parameters) return undefined;
  const fault = schemaFault(parameters.schema, "spec.parameters.schema");
  return fault === undefined ? undefined : { reason: "InvalidSchema", message: fault };
}

const invalidRule = (field: string, problem: string): TemplateFault => ({
  reason: "InvalidRule",
  message: `${field}: ${problem}`,
});

function variableFault(spec: PolicyTemplateSpec): TemplateFault | undefined {
  const before: string[] = [];
  for (const [index, { name, expression }] of spec.variables.entries()) {
    const field = `spec.variables[${index}]`;
    if (RESERVED_VARIABLES.includes(name))
      return invalidRule(`${field}.name`, `${name} is the platform's; choose another name`);
    const fault = expressionFault(spec, { expression, names: before, refs: spec.reads });
    if (fault !== undefined) return invalidRule(`${field}.expression`, fault);
    before.push(name);
  }
  return undefined;
}

function ruleFault(spec: PolicyTemplateSpec): TemplateFault | undefined {
  const names = spec.variables.map(({ name }) => name);
  const refs = spec.reads;
  for (const [index, { expression, messageExpression }] of spec.rules.entries()) {
    const fault = expressionFault(spec, { expression, names, refs, wanted: "bool" });
    if (fault !== undefined) return invalidRule(`spec.rules[${index}].expression`, fault);
    if (messageExpression === undefined) continue;
    const messageFault = expressionFault(spec, { expression: messageExpression, names, refs, wanted: "string" });
    if (messageFault !== undefined) return invalidRule(`spec.rules[${index}].messageExpression`, messageFault);
  }
  return undefined;
}

function scaleFault(spec: PolicyTemplateSpec): TemplateFault | undefined {
  if (spec.scale === undefined) return undefined;
  if (!spec.subjects.includes("Process")) return invalidRule("spec.scale", "only templates for Process have one");
  const fault = expressionFault(spec, { expression: spec.scale, names: [], wanted: "bool" });
  return fault === undefined ? undefined : invalidRule("spec.scale", fault);
}

interface Checked {
  expression: string;
  /** Names of the template's variables that it may read. */
  names: readonly string[];
  refs?: PolicyTemplateSpec["reads"];
  wanted?: "bool" | "string";
}

/** Variables of the platform that rules may read. */
const READABLE = ["params", "anyObject", "org", "space"];

function expressionFault(
  spec: PolicyTemplateSpec,
  { expression, names, refs = [], wanted }: Checked,
): string | undefined {
  const known = new Set([...READABLE, ...names]);
  const variables: ValueShape = { type: "object", property: (name) => (known.has(name) ? {} : undefined) };
  const reads: ValueShape = {
    type: "object",
    property: (name) => (refs.some((one) => one.as === name) ? { type: "array" } : undefined),
  };
  const shapes = {
    object: undefined,
    oldObject: undefined,
    request: undefined,
    variables,
    ...(refs.length > 0 && { refs: reads }),
  };
  const fault = checkExpression(expression, { ...shapes, authorizer: undefined, namespaceObject: undefined }, wanted);
  if (fault) return fault.isType ? fault.message : `it does not compile: ${fault.message}`;
  const { ast } = compileExpression(expression);
  return factFault(ast, spec) ?? versionFault(ast, spec);
}

/** An API server takes new expressions with what its previous minor had. */
function versionFault(ast: ASTNode, { minKubernetes }: PolicyTemplateSpec): string | undefined {
  const newest = newestFeature(ast);
  const needs = newest && minorOf(newest.minor) + 1;
  if (needs === undefined || needs <= minorOf(minKubernetes)) return undefined;
  return `${newest?.name} needs Kubernetes 1.${needs}; set spec.minKubernetes to it, or do without`;
}

function minorOf(version: string): number {
  return Number(version.split(".")[1]);
}

/** Audit, CI and a write have different facts: rules may read only those that all have, or that the template says it needs. */
function factFault(node: ASTNode, spec: PolicyTemplateSpec): string | undefined {
  if (isRequestField(node)) return requestFieldFault(String((node.args as [ASTNode, string])[1]), spec);
  if (node.op === "id") return nameFault(String(node.args), spec);
  for (const operand of operandsOf(node)) {
    const fault = factFault(operand, spec);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isRequestField(node: ASTNode): boolean {
  if (node.op !== ".") return false;
  const [operand] = node.args;
  return operand.op === "id" && operand.args === "request";
}

function requestFieldFault(field: string, { needs }: PolicyTemplateSpec): string | undefined {
  if (field === "operation") return undefined;
  if (field !== "userInfo") return `request.${field} is not known in audit and CI; only request.operation is`;
  return needs.includes("user") ? undefined : "request.userInfo is not known everywhere; add user to spec.needs";
}

function nameFault(name: string, { needs }: PolicyTemplateSpec): string | undefined {
  if (name === "authorizer") return "authorizer is not known in audit and CI, which have no caller";
  if (name === "namespaceObject") return "read variables.org and variables.space instead of namespaceObject";
  if (name === "request") return "read request.operation; other facts of the request are not known everywhere";
  if (name === "oldObject" && !needs.includes("oldObject"))
    return "oldObject is not known everywhere; add oldObject to spec.needs";
  return undefined;
}
