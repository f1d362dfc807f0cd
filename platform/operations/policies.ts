// The elected part of the operation `policies`: the controllers of constraints, one for each kind that a template makes, and the audit.
import type { Logger } from "pino";
import { App } from "../../crds/app/app.ts";
import { listSubjectKinds } from "../../crds/policy-template/subjects.ts";
import { Replica } from "../../crds/replica/replica.ts";
import { Space } from "../../crds/space/space.ts";
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
import type { Membership } from "../../kube/lease/membership.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { watchReplicaReports, type ReplicaReports } from "../policies/replica-reports.ts";
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
  ...[App, Space].map((resource): Permission => ({ resource, subresource: "status", verbs: ["patch"] })),
  { resource: Event, verbs: ["get", "create", "patch"] },
];

/** In the system namespace: the reports of other processes. */
export const POLICY_SYSTEM_PERMISSIONS: readonly Permission[] = [{ resource: Replica, verbs: LIST_WATCH_VERBS }];

interface PolicySingletonOptions {
  informers: Informers;
  membership: Membership;
  log: Logger;
}

/** The elected replica runs the controllers of constraints. */
export function createPolicySingleton({ informers, log, membership }: PolicySingletonOptions): Singleton {
  return {
    operation: "policies",
    requiredKinds: [PolicyTemplate, Namespace, CustomResourceDefinition],
    startTerm: (term, client) => {
      let runs: ConstraintRuns | undefined;
      let replicas: ReplicaReports | undefined;
      return {
        controllers: [],
        start() {
          replicas = watchReplicaReports(membership, informers);
          runs = new ConstraintRuns({ client, informers, replicas, ownership: CONTROLLER_SETTINGS, term, log });
        },
        async stop() {
          await runs?.stop();
          replicas?.close();
        },
      };
    },
  };
}
