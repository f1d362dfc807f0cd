// Templates and constraints of a cluster.
import pLimit from "p-limit";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNoKind } from "../../kube/client/errors.ts";
import { constraintKindOf, type Constraint } from "../../crds/policy-template/constraint.ts";
import { prepareConstraint, type JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { rulesInForce } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../crds/policy-template/policy-template.ts";

/** A template with its constraints. */
export interface Policy {
  template: PolicyTemplate;
  /** undefined while the API server does not serve the kind. */
  constraints: Constraint[] | undefined;
}

const CONCURRENT_LISTS = 8;

/** All templates by name, each with its constraints by name. */
export async function readPolicies(kube: KubeClient): Promise<Policy[]> {
  const { items } = await kube.list(PolicyTemplate);
  const limit = pLimit(CONCURRENT_LISTS);
  const policies = items.map((template) =>
    limit(async () => ({ template, constraints: await listConstraints(kube, template) })),
  );
  return (await Promise.all(policies)).sort((one, other) => byName(one.template, other.template));
}

async function listConstraints(kube: KubeClient, template: PolicyTemplate): Promise<Constraint[] | undefined> {
  try {
    const { items } = await kube.list(constraintKindOf(template));
    return (items as Constraint[]).sort(byName);
  } catch (error) {
    if (isNoKind(error)) return undefined;
    throw error;
  }
}

function byName(one: KubeObject, other: KubeObject): number {
  return one.metadata.name < other.metadata.name ? -1 : 1;
}

/** All constraints, ready to judge. */
export function prepareAll(policies: readonly Policy[], now: Date): JudgingConstraint[] {
  return policies.flatMap(({ template, constraints = [] }) =>
    constraints.map((one) => prepareConstraint(rulesOf(template), one, now)),
  );
}

/** The rules that judge; those of the spec before any were in force. */
export function rulesOf(template: PolicyTemplate): PolicyTemplateSpec {
  return rulesInForce(template) ?? template.spec;
}
