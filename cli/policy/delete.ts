// `cup policy delete`.
import type { KubeClient } from "../../kube/client/client.ts";
import { constraintKindOf, constraintId } from "../../crds/policy-template/constraint.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { confirm } from "../confirm.ts";
import type { Result } from "../output.ts";
import { findPolicy, type Found } from "./find.ts";
import { readPolicies } from "./live-policies.ts";

const MAX_NAMED = 20;

export async function deletePolicy(kube: KubeClient, name: string, options: { force?: boolean }): Promise<Result> {
  const found = findPolicy(await readPolicies(kube), name);
  await confirm(askAbout(found), options.force);
  const { template } = found.policy;
  if (found.constraint) {
    const { metadata } = found.constraint;
    await kube.delete(constraintKindOf(template), { name: metadata.name }, sameObject(metadata.uid));
    const gone = constraintId(found.constraint);
    return { json: { deleted: gone }, text: [`${gone} is gone: the rule ends at once.`] };
  }
  // The garbage collector takes the kind of a template, and with it the constraints.
  const { name: templateName, uid } = template.metadata;
  await kube.delete(PolicyTemplate, { name: templateName }, { propagationPolicy: "Background", ...sameObject(uid) });
  const constraints = (found.policy.constraints ?? []).map(constraintId);
  const rest = constraints.length === 0 ? "" : `, and ${count(constraints.length)} with it`;
  return { json: { deleted: templateName, constraints }, text: [`Template ${templateName} is gone${rest}.`] };
}

/** Deletes only the object that the question was about. */
function sameObject(uid: string | undefined): { preconditions?: { uid: string } } {
  return uid === undefined ? {} : { preconditions: { uid } };
}

/** The question before a deletion. Pure. */
export function askAbout({ policy: { template, constraints = [] }, constraint }: Found): string {
  if (constraint) return `Delete ${constraintId(constraint)}? Its rule ends at once.`;
  const { name } = template.metadata;
  if (constraints.length === 0) return `Delete template ${name}? It has no constraints.`;
  const names = constraints.slice(0, MAX_NAMED).map(constraintId);
  const more = constraints.length > MAX_NAMED ? [`and ${constraints.length - MAX_NAMED} more`] : [];
  return `Delete template ${name} and ${count(constraints.length)}: ${[...names, ...more].join(", ")}?`;
}

function count(constraints: number): string {
  return constraints === 1 ? "its constraint" : `its ${constraints} constraints`;
}
