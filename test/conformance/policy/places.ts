// The namespaces of the policy tests: of an org, of spaces with CF labels and without, and the platform's own.
import { CONSTRAINTS_GROUP, SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Constraint } from "../../../crds/policy-template/constraint.ts";
import { prepareConstraint, type JudgingConstraint } from "../../../crds/policy-template/evaluate.ts";
import { toNamespaceLabels } from "../../../crds/space/namespace-labels.ts";
import type { PolicyTemplateSpec } from "../../../crds/policy-template/policy-template.ts";

const acme = { name: "acme", labels: { tier: "gold" } };
const dev = { name: "dev", labels: { env: "production", "example.com/owner": "ada" } };

export const NAMESPACES: ReadonlyMap<string, Record<string, string>> = new Map([
  ["acme", toNamespaceLabels({ org: acme })],
  ["acme-dev", toNamespaceLabels({ org: acme, space: dev })],
  ["acme-prod", toNamespaceLabels({ org: acme, space: { name: "prod-eu", labels: { env: "test" } } })],
  ["other-dev", toNamespaceLabels({ org: { name: "other" }, space: { name: "dev" } })],
  [SYSTEM_NAMESPACE, {}],
]);

/** A constraint of a template, ready to judge. */
export function constrain(
  template: PolicyTemplateSpec,
  name: string,
  spec: object,
  now = new Date(),
): JudgingConstraint {
  const constraint = {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: template.kind,
    metadata: { name, uid: "u", generation: 1 },
    spec: { enforcement: { action: "deny" }, ...spec },
  } as Constraint;
  return prepareConstraint(template, constraint, now);
}
