// The elected part of the operation `policies`: the controllers of constraints, one for each kind that a template makes, and the audit.
import type { Logger } from "pino";
import { App } from "../../crds/app/app.ts";
import { listSubjectKinds } from "../../crds/policy-template/subjects.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { ConstraintRuns } from "../../controllers/policy-template/run-constraints.ts";
import {
  CustomResourceDefinition,
  Event,
  Namespace,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../kube/api/builtin.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { Singleton } from "../leases/singletons.ts";
import { CONTROLLER_SETTINGS } from "./controller-settings.ts";

/** The kinds that templates make are not known before. */
const CONSTRAINTS = { group: CONSTRAINTS_GROUP, plural: "*" };

/** Permissions beyond those of the template's controller. */
export const POLICY_PERMISSIONS: readonly Permission[] = [
  { resource: CONSTRAINTS, verbs: LIST_WATCH_VERBS },
  { resource: CONSTRAINTS, subresource: "status", verbs: ["patch"] },
  ...[ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding].map((resource): Permission => ({
    resource,
    verbs: [...LIST_WATCH_VERBS, "create", "patch", "delete"],
  })),
  ...listSubjectKinds().map((resource): Permission => ({ resource, verbs: LIST_WATCH_VERBS })),
  { resource: App, subresource: "status", verbs: ["patch"] },
  { resource: Event, verbs: ["get", "create", "patch"] },
];

/** The elected replica runs the controllers of constraints. */
export function createPolicySingleton({ informers, log }: { informers: Informers; log: Logger }): Singleton {
  return {
    operation: "policies",
    requiredKinds: [PolicyTemplate, Namespace, CustomResourceDefinition],
    startTerm: (term, client) => {
      let runs: ConstraintRuns | undefined;
      return {
        controllers: [],
        start() {
          runs = new ConstraintRuns({ client, informers, ownership: CONTROLLER_SETTINGS, term, log });
        },
        stop: () => runs?.stop(),
      };
    },
  };
}
