// Admission policies: whoever shares a route with another space may change routes there, and whoever leads one to another space's app may read apps there.
import {
  authorizerAllows,
  CALLER_IS_PLATFORM,
  MAX_ADDED_SPACES,
  sharingPolicy,
  toPolicyResource,
  type AdmissionPolicy,
} from "../admission-policy.ts";
import { App } from "../app/app.ts";
import { Route } from "./route.ts";

export function routeSharingPolicy(): AdmissionPolicy {
  return sharingPolicy(Route, { name: "route-sharing.cupola.dev", noun: "route" });
}

/**
 * Destinations in other spaces, of any type: for the type check of kube-apiserver the field is `__namespace__`, for its evaluation `namespace`.
 * A route stored before destinations had a namespace has none.
 */
const foreignOf = (object: string): string =>
  `(${object} == null || !has(${object}.spec.destinations) ? [] : dyn(${object}.spec.destinations).filter(one, has(one.namespace) && !(one.namespace in ['', request.namespace])))`;

/** The endpoint that a destination makes public: a port of a process of an app. Neither namespaces nor names of apps have a slash. */
const PUBLISHED = "one.namespace + '/' + one.app + '/' + one.process + '/' + string(one.port)";

/** The API asks the same, app by app (api/route/destinations.ts). Fields that publish nothing more, such as the protocol, ask for nothing. */
export function routeDestinationPolicy(): AdmissionPolicy {
  const turns = Array.from({ length: MAX_ADDED_SPACES }, (_none, at) => at);
  return {
    name: "route-destinations.cupola.dev",
    resources: [toPolicyResource(Route)],
    operations: ["CREATE", "UPDATE"],
    variables: [
      { name: "before", expression: `${foreignOf("oldObject")}.map(one, ${PUBLISHED})` },
      {
        name: "left0",
        expression: `${foreignOf("object")}.filter(one, !(${PUBLISHED} in variables.before)).map(one, one.namespace)`,
      },
      ...turns.flatMap((at) => judgeFirst(`variables.left${at}`, at)),
    ],
    validations: [
      {
        expression: `size(variables.left${MAX_ADDED_SPACES}) == 0 || ${CALLER_IS_PLATFORM}`,
        message: `lead a route to apps of at most ${MAX_ADDED_SPACES} more spaces at a time`,
        reason: "Forbidden",
      },
      {
        expression: `(${turns.map((at) => `variables.may${at}`).join(" && ")}) || ${CALLER_IS_PLATFORM}`,
        message: "leading a route to an app of another space needs the right to read apps there",
        reason: "Forbidden",
      },
    ],
  };
}

/** Asks about the first namespace left, and leaves those that differ: each is asked about once, however many destinations it has. */
function judgeFirst(left: string, at: number): { name: string; expression: string }[] {
  const right = authorizerAllows({ group: App.group, resource: App.plural, namespace: `${left}[0]`, verb: "get" });
  return [
    { name: `may${at}`, expression: `size(${left}) == 0 || ${right}` },
    { name: `left${at + 1}`, expression: `${left}.filter(name, name != ${left}[0])` },
  ];
}
