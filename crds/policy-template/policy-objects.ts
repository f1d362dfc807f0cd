// The ValidatingAdmissionPolicies of a constraint, with their bindings. They hold with every process of Cupola down, and deleting the constraint removes them.
import { createHash } from "node:crypto";
import type { MatchResources, PolicySpec } from "../../kube/admission/policy/types.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { EXCEPT_KUBERNETES_COMPONENTS, EXCEPT_PLATFORM } from "../admission-policy.ts";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { actionAt, type Action, type Constraint } from "./constraint.ts";
import { compileConstraint, type RuleSet } from "./compile.ts";
import { namespaceSelector } from "./namespace-selector.ts";
import { hasReads, type PolicyTemplateSpec } from "./policy-template.ts";
import type { KindDefinition } from "../kind.ts";
import { findSubject, livesInSpaces } from "./subjects.ts";
import { sentenceEnd, sentenceStart, toSentence } from "./verdict.ts";

const API_VERSION = "admissionregistration.k8s.io/v1";
/** Annotation of each policy and binding: a hash of its spec, by which a stored one is known to be current. */
export const DIGEST = "constraints.cupola.dev/digest";

const ACTIONS: Record<Action, string> = { deny: "Deny", warn: "Warn", dryrun: "Audit" };

/** Kubernetes itself and the platform are not judged. Members of system:masters are judged as anybody. */
export const EXCEPT_UNJUDGED_CALLERS = [EXCEPT_KUBERNETES_COMPONENTS, EXCEPT_PLATFORM];

/** The name of a constraint's policy and binding. */
export function policyName({ kind, metadata }: Pick<Constraint, "kind" | "metadata">): string {
  return `${kind.toLowerCase()}.${metadata.name}.${CONSTRAINTS_GROUP}`;
}

const POLICY_NAME = new RegExp(
  `^(?:places\\.|scale\\.)?([a-z0-9]+)\\.(.+)\\.${CONSTRAINTS_GROUP.replaceAll(".", "\\.")}$`,
);

/**
 * The sentence of an API server's denial or warning, by the name of its policy. Of a rule that cannot be evaluated the API server gives the error
 * alone: the template's name stands for its title then.
 */
export function toPolicySentence(policy: string, text: string): string {
  const [, template, constraint] = POLICY_NAME.exec(policy) ?? [];
  const isWhole = template === undefined || constraint === undefined || text.endsWith(sentenceEnd(constraint));
  return isWhole ? text : toSentence(template, { message: text, constraint });
}

/** All policies and bindings of a constraint. None for rules that read other objects, which no such policy can hold: the CF API and the start gate do. */
export function toConstraintPolicies(spec: PolicyTemplateSpec, constraint: Constraint, now: Date): KubeObject[] {
  if (hasReads(spec)) return [];
  const rules = compileConstraint(spec, constraint, now);
  const name = policyName(constraint);
  const action = actionAt(constraint, "write");
  const subjects = spec.subjects.flatMap((kind) => findSubject(kind) ?? []);
  const [inSpaces, elsewhere] = [subjects.filter(livesInSpaces), subjects.filter((one) => !livesInSpaces(one))];
  const toPolicies = (name: string, matchConstraints: MatchResources): KubeObject[] =>
    toPair({ name, action, spec: { ...rules, matchConstraints } });
  const { match } = constraint.spec;
  return [
    ...(inSpaces.length > 0
      ? toPolicies(name, { ...matchKinds(spec, inSpaces), namespaceSelector: namespaceSelector(match) })
      : []),
    // A policy of its own: objects of spaces are then selected by namespace, which costs an API server next to nothing.
    ...(elsewhere.length > 0
      ? toPolicies(inSpaces.length > 0 ? `places.${name}` : name, matchKinds(spec, elsewhere))
      : []),
    ...(spec.subjects.includes("Process") && action === "deny" ? toScalePolicy(spec, constraint, now) : []),
  ];
}

interface Rendered {
  name: string;
  action: Action;
  spec: RuleSet & { matchConstraints: MatchResources };
}

function toPair({ name, action, spec }: Rendered): KubeObject[] {
  const policySpec: PolicySpec = {
    failurePolicy: "Fail",
    ...spec,
    matchConditions: [...EXCEPT_UNJUDGED_CALLERS, ...spec.matchConditions],
  };
  return [
    toObject({ kind: "ValidatingAdmissionPolicy", name, spec: policySpec }),
    toObject({
      kind: "ValidatingAdmissionPolicyBinding",
      name,
      spec: { policyName: name, validationActions: [ACTIONS[action]] },
    }),
  ];
}

function toObject({ kind, name, spec }: { kind: string; name: string; spec: object }): KubeObject {
  const digest = createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 32);
  const metadata = { name, annotations: { [DIGEST]: digest } };
  return { apiVersion: API_VERSION, kind, metadata, spec };
}

function matchKinds({ operations }: PolicyTemplateSpec, subjects: readonly KindDefinition[]): MatchResources {
  return {
    resourceRules: [...new Set(subjects.map(({ group }) => group))].map((group) => ({
      apiGroups: [group],
      apiVersions: ["*"],
      operations: [...operations],
      resources: subjects.filter((subject) => subject.group === group).map(({ plural }) => plural),
    })),
  };
}

/**
 * `kubectl scale` shows the API server a Scale without the Process, so that the rules cannot see it. A Scale has no labels either: objectLabels
 * exempt no Process from this policy.
 */
function toScalePolicy(spec: PolicyTemplateSpec, constraint: Constraint, now: Date): KubeObject[] {
  const { objectLabels: _unseen, ...match } = constraint.spec.match ?? {};
  const { variables } = compileConstraint(spec, { ...constraint, spec: { ...constraint.spec, match } }, now);
  const message = "kubectl scale cannot be judged by this policy; set spec.instances instead";
  return toPair({
    name: `scale.${policyName(constraint)}`,
    action: "deny",
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["cupola.dev"], apiVersions: ["*"], operations: ["UPDATE"], resources: ["processes/scale"] },
        ],
        namespaceSelector: namespaceSelector(constraint.spec.match),
      },
      matchConditions: [],
      variables,
      validations: [
        {
          expression: `!variables.matches || (${toScaleRule(spec.scale)})`,
          message: `${sentenceStart(spec.title)}${message}${sentenceEnd(constraint.metadata.name)}`,
          reason: "Invalid",
        },
      ],
    },
  });
}

/** A Scale to 0 has no replicas. */
function toScaleRule(rule = "false"): string {
  return rule.replace(
    /(?<!has\()\bobject\.spec\.replicas\b/g,
    "(has(object.spec.replicas) ? object.spec.replicas : 0)",
  );
}
