// Makes the kind of a PolicyTemplate's constraints. A spec with a mistake leaves the last good one in force (docs/policy.md).
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { planTemplate } from "./plan.ts";

export const policyTemplateController = defineController({
  name: "policy-template",
  for: PolicyTemplate,
  owns: [CustomResourceDefinition],
  // Also those of another owner: when one goes, its name is free.
  watches: [
    watch(CustomResourceDefinition, ({ metadata: { name } }) =>
      name.endsWith(`.${CONSTRAINTS_GROUP}`) ? [{ name: name.slice(0, -CONSTRAINTS_GROUP.length - 1) }] : [],
    ),
  ],
  reconcile: (template, { read }) => planTemplate(template, read),
});
