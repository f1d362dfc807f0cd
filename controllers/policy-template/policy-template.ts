// Makes the kind of a PolicyTemplate's constraints. A spec with a mistake leaves the last good one in force (docs/policy.md).
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { planTemplate } from "./plan.ts";

export const policyTemplateController = defineController({
  name: "policy-template",
  for: PolicyTemplate,
  owns: [CustomResourceDefinition],
  reads: [CustomResourceDefinition],
  reconcile: (template, { read }) => planTemplate(template, read),
});
