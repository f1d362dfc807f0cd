// Every admission policy: they hold inside the API server, at every door, with every process of ours down.
import type { KubeObject } from "../kube/api/object.ts";
import { DEFINITIONS } from "./definitions.ts";
import { featureFlagPolicies } from "./feature-flag/policies.ts";
import { fieldPolicies } from "./field-policies.ts";
import { GROUP } from "./groups.ts";
import { ANNOTATIONS, STABLE_LABELS } from "./labels.ts";
import { Org } from "./org/org.ts";
import {
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  EXCEPT_PLATFORM,
  toPolicyResource,
  toPolicyObjects,
  type AdmissionPolicy,
} from "./admission-policy.ts";
import { suspensionPolicies } from "./suspension-policies.ts";
import { tenancyPolicies } from "./tenancy-policies.ts";

/** Each policy with its binding. */
export function listAdmissionPolicies(): KubeObject[] {
  return [
    ...fieldPolicies(),
    guidPolicy(),
    deletionPolicy(),
    creatorPolicy(),
    ...tenancyPolicies(),
    ...suspensionPolicies(),
    ...featureFlagPolicies(),
  ].flatMap(toPolicyObjects);
}

/** Who made an org becomes its manager, so nobody says that another did. Only the platform changes it later. */
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
        message: `the annotation ${ANNOTATIONS.createdBy} names whoever creates the org, and stays`,
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * A GUID stays as it is, there or not there. Given late it would be that of an object in another namespace, which an older one takes for itself
 * (guid.ts). Only the platform, which holds every right on claims, gives one and repairs a duplicate.
 */
function guidPolicy(): AdmissionPolicy {
  const key = `'${STABLE_LABELS.guid}'`;
  const has = (object: string): string => `(has(${object}.metadata.labels) && ${key} in ${object}.metadata.labels)`;
  return {
    name: "guid.cupola.dev",
    resources: DEFINITIONS.map((definition) => toPolicyResource(definition)),
    operations: ["UPDATE"],
    validations: [
      {
        expression: `(${has("object")} == ${has("oldObject")} && (!${has("object")} || object.metadata.labels[${key}] == oldObject.metadata.labels[${key}])) || ${CALLER_IS_PLATFORM}`,
        message: `the label ${STABLE_LABELS.guid} is immutable, and the platform's to give to an object that has none`,
        reason: "Invalid",
      },
    ],
  };
}

/**
 * What decides when an object goes is for those who may delete it: the garbage collector deletes for whoever writes an owner that is not there, and without our
 * finalizer a deletion leaves behind what the object stands for.
 */
function deletionPolicy(): AdmissionPolicy {
  const listOf = (field: string, object: string): string =>
    `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : [])`;
  const owners = (object: string): string => listOf("ownerReferences", object);
  const keptFinalizers = `${listOf("finalizers", "oldObject")}.all(name, !name.startsWith('${GROUP}/') || name in ${listOf("finalizers", "object")})`;
  // One expression for all kinds; those of the cluster have no namespace.
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
