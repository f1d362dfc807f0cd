// Admission policies: whoever shares a service instance with a space, or makes a key of one, has the right to do so there, and is who they say.
import {
  authorizerAllows,
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  sharingPolicy,
  toPolicyResource,
  type AdmissionPolicy,
} from "../admission-policy.ts";
import { ANNOTATIONS } from "../labels.ts";
import { ServiceBinding } from "../service-binding/service-binding.ts";
import { ServiceInstance } from "./service-instance.ts";

export function serviceInstancePolicies(): AdmissionPolicy[] {
  return [
    sharingPolicy(ServiceInstance, { name: "service-instance-sharing.cupola.dev", noun: "service instance" }),
    keyPolicy(),
    askerPolicy(),
  ];
}

/** Brokers are told who asks for an operation, so nobody names somebody else. */
function askerPolicy(): AdmissionPolicy {
  const by = (object: string): string =>
    `(${object} != null && has(${object}.metadata.annotations) && '${ANNOTATIONS.askedBy}' in ${object}.metadata.annotations ? ${object}.metadata.annotations['${ANNOTATIONS.askedBy}'] : '')`;
  return {
    name: "service-askers.cupola.dev",
    resources: [toPolicyResource(ServiceInstance), toPolicyResource(ServiceBinding)],
    operations: ["CREATE", "UPDATE"],
    validations: [
      {
        expression: `${by("object")} in ['', string(${by("oldObject")}), request.userInfo.username] || ${CALLER_IS_PLATFORM}`,
        message: `the annotation ${ANNOTATIONS.askedBy} must name the person who asks`,
        reason: "Forbidden",
      },
    ],
  };
}

/** As in CF: supporters bind apps, and make and delete no keys; a key is the instance's own space's. */
function keyPolicy(): AdmissionPolicy {
  const settings = authorizerAllows({
    group: ServiceBinding.group,
    resource: ServiceBinding.plural,
    subresource: "settings",
    namespace: "request.namespace",
    name: "oldObject == null ? '' : oldObject.metadata.name",
    verb: "update",
  });
  return {
    name: "service-keys.cupola.dev",
    resources: [toPolicyResource(ServiceBinding)],
    operations: ["CREATE", "DELETE"],
    matchConditions: [
      EXCEPT_KUBERNETES,
      { name: "a-key", expression: "(object == null ? oldObject : object).spec.type == 'key'" },
    ],
    validations: [
      {
        expression: `${settings} || ${CALLER_IS_PLATFORM}`,
        message: `making and deleting a key needs the right to update ${ServiceBinding.plural}/settings`,
        reason: "Forbidden",
      },
      {
        expression: `object == null || !has(object.spec.instanceRef.namespace) || object.spec.instanceRef.namespace == request.namespace`,
        message: "a key is made in the space of its service instance, not in one that the instance is shared with",
        reason: "Invalid",
      },
    ],
  };
}
