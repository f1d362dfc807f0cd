// An admission policy: whoever shares a route with another space may change routes there, too.
import { authorizerAllows, CALLER_IS_PLATFORM, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { Route } from "./route.ts";

/** Spaces that one write may add. */
export const MAX_ADDED_SPACES = 8;

const spacesOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.sharedSpaces) ? [] : ${object}.spec.sharedSpaces)`;

export function routeSharingPolicy(): AdmissionPolicy {
  const mayChange = (at: number): string =>
    authorizerAllows({
      group: Route.group,
      resource: Route.plural,
      namespace: `variables.added[${at}]`,
      verb: "update",
    });
  const checks = Array.from({ length: MAX_ADDED_SPACES }, (_none, at) => ({
    name: `may${at}`,
    expression: `size(variables.added) <= ${at} || ${mayChange(at)}`,
  }));
  return {
    name: "route-sharing.cupola.dev",
    resources: [toPolicyResource(Route)],
    operations: ["CREATE", "UPDATE"],
    variables: [
      { name: "before", expression: spacesOf("oldObject") },
      { name: "added", expression: `${spacesOf("object")}.filter(name, !(name in variables.before))` },
      // Each is an expression of its own: the cost limit of one allows two checks.
      ...checks,
    ],
    validations: [
      {
        expression: `size(variables.added) <= ${MAX_ADDED_SPACES} || ${CALLER_IS_PLATFORM}`,
        message: `share a route with at most ${MAX_ADDED_SPACES} more spaces at a time`,
        reason: "Forbidden",
      },
      {
        expression: `(${checks.map(({ name }) => `variables.${name}`).join(" && ")}) || ${CALLER_IS_PLATFORM}`,
        message: "sharing a route with a space needs the right to update routes there",
        reason: "Forbidden",
      },
    ],
  };
}
