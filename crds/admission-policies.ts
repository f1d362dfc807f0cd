// All admission policies. The API server enforces them for every client, even while no process of the platform runs.
import type { KubeObject } from "../kube/api/object.ts";
import { adjustmentPolicy } from "./adjustment/policy.ts";
import { App } from "./app/app.ts";
import { appPolicyPolicy } from "./app-policy/policies.ts";
import { DEFINITIONS } from "./definitions.ts";
import { internalDomainPolicy } from "./domain/policies.ts";
import { featureFlagPolicies } from "./feature-flag/policies.ts";
import { guidPolicies } from "./guid-policies.ts";
import { originPolicies } from "./origin-policies.ts";
import { fieldPolicies } from "./field-policies.ts";
import { GROUP } from "./groups.ts";
import { ANNOTATIONS } from "./labels.ts";
import { Org } from "./org/org.ts";
import {
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  EXCEPT_PLATFORM,
  toPolicyResource,
  toPolicyObjects,
  type AdmissionPolicy,
} from "./admission-policy.ts";
import { imagePolicies } from "./image-policies.ts";
import { kindVersionPolicy } from "./kind-version-policy.ts";
import { templateDeletionPolicy } from "./policy-template/deletion-policy.ts";
import { platformPolicies } from "./platform-policies.ts";
import { platformRolePolicies } from "./platform-role-policies.ts";
import { podPolicies } from "./pod-policies.ts";
import { Process } from "./process/process.ts";
import { routeDestinationPolicy, routeSharingPolicy } from "./route/policies.ts";
import { securityGroupPolicy } from "./security-group/policies.ts";
import { serviceInstancePolicies } from "./service-instance/policies.ts";
import { restorerPolicy } from "./restorer-policy.ts";
import { suspensionPolicies } from "./suspension-policies.ts";
import { Task } from "./task/task.ts";
import { tenancyPolicies } from "./tenancy-policies.ts";
import { agentPolicies } from "./work/policies.ts";

/** Each policy with its binding. */
export function listAdmissionPolicies(): KubeObject[] {
  return [
    ...fieldPolicies(),
    ...guidPolicies(),
    ...originPolicies(),
    deletionPolicy(),
    finalizerPolicy(),
    runningPolicy(),
    creatorPolicy(),
    ...tenancyPolicies(),
    restorerPolicy(),
    ...imagePolicies(),
    ...podPolicies(),
    ...platformPolicies(),
    ...platformRolePolicies(),
    ...suspensionPolicies(),
    ...featureFlagPolicies(),
    securityGroupPolicy(),
    routeSharingPolicy(),
    routeDestinationPolicy(),
    ...serviceInstancePolicies(),
    internalDomainPolicy(),
    appPolicyPolicy(),
    templateDeletionPolicy(),
    adjustmentPolicy(),
    ...agentPolicies(),
    kindVersionPolicy(),
  ].flatMap(toPolicyObjects);
}

/** The creator of an org becomes its manager, so a caller may only name itself. Only the platform changes the annotation later. */
function creatorPolicy(): AdmissionPolicy {
  const by = (object: string): string =>
    `(has(${object}.metadata.annotations) && '${ANNOTATIONS.createdBy}' in ${object}.metadata.annotations ? ${object}.metadata.annotations['${ANNOTATIONS.createdBy}'] : '')`;
  return {
    name: "org-creators.cupola.dev",
    resources: [toPolicyResource(Org)],
    operations: ["CREATE", "UPDATE"],
    validations: [
      {
        expression: `(oldObject == null ? ${by("object")} in ['', request.userInfo.username] : ${by("object")} == ${by("oldObject")}) || ${CALLER_IS_PLATFORM}`,
        message: `the annotation ${ANNOTATIONS.createdBy} must name the creator of the org, and is immutable`,
        reason: "Forbidden",
      },
    ],
  };
}

const listOf = (field: string, object: string): string =>
  `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : [])`;

/**
 * Quotas count neither what is being deleted nor what is gone, so nothing that runs may stay behind: the garbage collector ends an LRP or a TaskRun only
 * when its Process or Task is gone, and not after an orphaning deletion.
 */
function runningPolicy(): AdmissionPolicy {
  const orphans =
    "has(request.options.propagationPolicy) && request.options.propagationPolicy == 'Orphan' || has(request.options.orphanDependents) && request.options.orphanDependents";
  return {
    name: "running.cupola.dev",
    resources: [App, Process, Task].map((definition) => toPolicyResource(definition)),
    operations: ["DELETE"],
    matchConditions: [EXCEPT_KUBERNETES, EXCEPT_PLATFORM],
    validations: [
      {
        expression: `!(${orphans}) || ${CALLER_IS_PLATFORM}`,
        message: "only admins may delete an app, a process or a task with orphans: what it runs would run on uncounted",
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * A foreign finalizer would keep an object, and the space and org around it, until its writer removes it; an App, Process or Task would run on and count
 * against no quota. Kinds of the workloads group are left out: their backends add finalizers of their own.
 */
function finalizerPolicy(): AdmissionPolicy {
  const added = `${listOf("finalizers", "object")}.exists(name, name != 'foregroundDeletion' && !(oldObject != null && name in ${listOf("finalizers", "oldObject")}))`;
  return {
    name: "finalizers.cupola.dev",
    resources: DEFINITIONS.filter(({ group }) => group === GROUP).map((definition) => toPolicyResource(definition)),
    operations: ["CREATE", "UPDATE"],
    matchConditions: [EXCEPT_KUBERNETES, EXCEPT_PLATFORM],
    validations: [
      {
        expression: `!${added} || ${CALLER_IS_PLATFORM}`,
        message: "only admins may add a finalizer: the object, and the space and org around it, could not be deleted",
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * Owners and finalizers decide when an object goes, so changing them needs the permission to delete it: the garbage collector deletes an object whose owner
 * does not exist, and without our finalizer a deletion leaves the object's resources behind.
 */
function deletionPolicy(): AdmissionPolicy {
  const owners = (object: string): string => listOf("ownerReferences", object);
  const keptFinalizers = `${listOf("finalizers", "oldObject")}.all(name, !name.startsWith('${GROUP}/') || name in ${listOf("finalizers", "object")})`;
  // An expression for all kinds; cluster-scoped kinds have no namespace.
  const namespace = "has(oldObject.metadata.namespace) ? oldObject.metadata.namespace : ''";
  const mayDelete = `authorizer.group(request.resource.group).resource(request.resource.resource).namespace(${namespace}).name(oldObject.metadata.name).check('delete').allowed()`;
  return {
    name: "lifetimes.cupola.dev",
    resources: DEFINITIONS.map((definition) => toPolicyResource(definition)),
    operations: ["UPDATE"],
    matchConditions: [EXCEPT_KUBERNETES, EXCEPT_PLATFORM],
    validations: [
      {
        expression: `(${owners("object")} == ${owners("oldObject")} && ${keptFinalizers}) || ${mayDelete}`,
        message: `changing ownerReferences, or removing a finalizer of ${GROUP}, needs the right to delete the object`,
        reason: "Forbidden",
      },
    ],
  };
}
