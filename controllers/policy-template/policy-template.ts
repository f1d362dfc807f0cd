// Makes the kind of a PolicyTemplate's constraints. A spec with a mistake leaves the last good one in force (docs/policy.md).
import { constraintCRD } from "../../crds/policy-template/constraint.ts";
import { templateFault } from "../../crds/policy-template/lint.ts";
import { rulesInForce } from "../../crds/policy-template/policies.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import { defineController, type ReadyDraft, type ReconcileResult } from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";

export const policyTemplateController = defineController({
  name: "policy-template",
  for: PolicyTemplate,
  owns: [CustomResourceDefinition],
  reads: [CustomResourceDefinition],
  reconcile: (template, { read }) => planTemplate(template, read),
});

/** The CRD and the status of a template. */
export function planTemplate(template: PolicyTemplate, read: Pick<Reader, "find">): ReconcileResult {
  const fault = templateFault(template.spec) ?? takenFault(template, read);
  const spec = fault ? rulesInForce(template) : template.spec;
  const children = spec ? [constraintCRD({ ...template, spec })] : [];
  if (fault)
    return {
      children,
      ready: { status: "False", ...fault, message: inForceNote(fault.message, spec), isFailure: true },
    };
  const inForce = { generation: template.metadata.generation ?? 0, spec: template.spec };
  return { children, status: { inForce }, ...(!isServed(template, read) && { ready: KIND_PENDING }) };
}

const KIND_PENDING: ReadyDraft = {
  status: "False",
  reason: "KindPending",
  message: "waiting until the API server serves the kind of its constraints",
};

function inForceNote(message: string, spec: PolicyTemplate["spec"] | undefined): string {
  return spec ? `${message}; the rules from before stay in force` : message;
}

/** A CRD of the name that somebody else made. */
function takenFault(
  template: PolicyTemplate,
  read: Pick<Reader, "find">,
): { reason: string; message: string } | undefined {
  const { name } = constraintCRD(template).metadata;
  const crd = read.find(CustomResourceDefinition, { name });
  const owners = crd?.metadata.ownerReferences ?? [];
  if (!crd || owners.some(({ uid }) => uid === template.metadata.uid)) return undefined;
  return {
    reason: "KindTaken",
    message: `the CustomResourceDefinition ${name} belongs to somebody else; delete it, or name another kind`,
  };
}

function isServed(template: PolicyTemplate, read: Pick<Reader, "find">): boolean {
  const crd = read.find(CustomResourceDefinition, { name: constraintCRD(template).metadata.name });
  return crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false;
}
