// An admission policy: whoever shares a route with another space may change routes there, too.
import {
  addedNames,
  authorizerAllows,
  CALLER_IS_PLATFORM,
  toPolicyResource,
  type AdmissionPolicy,
} from "../admission-policy.ts";
import { Route } from "./route.ts";

/** Spaces that one write may add. */
export const MAX_ADDED_SPACES = 8;

const spacesOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.sharedSpaces) ? [] : ${object}.spec.sharedSpaces)`;

export function routeSharingPolicy(): AdmissionPolicy {
  const { variables, allAllowed } = addedNames(spacesOf, {
    most: MAX_ADDED_SPACES,
    mayAdd: (namespace) => authorizerAllows({ group: Route.group, resource: Route.plural, namespace, verb: "update" }),
  });
  return {
    name: "route-sharing.cupola.dev",
    resources: [toPolicyResource(Route)],
    operations: ["CREATE", "UPDATE"],
    variables,
    validations: [
      {
        expression: `size(variables.added) <= ${MAX_ADDED_SPACES} || ${CALLER_IS_PLATFORM}`,
        message: `share a route with at most ${MAX_ADDED_SPACES} more spaces at a time`,
        reason: "Forbidden",
      },
      {
        expression: `(${allAllowed}) || ${CALLER_IS_PLATFORM}`,
        message: "sharing a route with a space needs the right to update routes there",
        reason: "Forbidden",
      },
    ],
  };
}
