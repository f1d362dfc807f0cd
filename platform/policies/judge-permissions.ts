// Permissions to judge by operator policy where rules may read any kind that people write.
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { listSubjectKinds } from "../../crds/policy-template/subjects.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";

/** Templates, constraints of kinds that are not known before, and each kind that rules may read. */
export const JUDGE_PERMISSIONS: readonly Permission[] = [
  PolicyTemplate,
  { group: CONSTRAINTS_GROUP, plural: "*" },
  Namespace,
  ...listSubjectKinds(),
].map((resource): Permission => ({ resource, verbs: LIST_WATCH_VERBS }));
