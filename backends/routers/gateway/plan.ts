// From a RouteBinding to an HTTPRoute or a TCPRoute, and from the status of that to the binding's. Pure.
import { LABELS } from "../../../crds/labels.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { Condition } from "../../../kube/api/object.ts";
import { omitUndefined } from "../../../kube/api/omit-undefined.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ReadyDraft } from "../../../kube/controller/controller.ts";
import {
  copyLabels,
  needsRelay,
  RELAY_PORT,
  RELAY_SERVICE,
  type RouteDestination,
  servedDestinations,
  serviceName,
} from "../services/plan.ts";
import { notReady } from "../services/present-binding.ts";
import { type GatewayRoute, HTTPRoute, type ParentRef, TCPRoute } from "./gateway-routes.ts";

/** How long a gateway's controller may take to answer before its silence is a problem. */
const ANSWER_MS = 30_000;

/** Settings of the class (BackendClass.spec.parameters). */
export interface GatewayParameters {
  /** The Gateway that serves the routes. */
  gatewayName?: string;
  gatewayNamespace?: string;
  /** A listener of it; all whose hostname fits when left out. */
  sectionName?: string;
}

/** The parent of the class's routes, or why there is none. */
export function toParentRef(parameters: GatewayParameters): ParentRef | ReadyDraft {
  const { gatewayName, gatewayNamespace, sectionName } = parameters;
  if (!gatewayName || !gatewayNamespace)
    return notReady(
      "GatewayNotSet",
      "set parameters.gatewayName and parameters.gatewayNamespace of BackendClass gateway to the Gateway that serves routes",
    );
  return {
    group: HTTPRoute.group,
    kind: "Gateway",
    namespace: gatewayNamespace,
    name: gatewayName,
    ...(sectionName && { sectionName }),
  };
}

/** TCP routes belong to the listener of their port, which the Gateway's operator declares. */
export function toTCPParentRef({ group, kind, namespace, name }: ParentRef, port: number): ParentRef {
  return omitUndefined({ group, kind, namespace, name, port });
}

/** None without a destination: an HTTPRoute without backends answers 500, and an unknown host 404 as in CF. */
export function planHTTPRoute(binding: RouteBinding, parent: ParentRef): Draft[] {
  const destinations = servedDestinations(binding);
  if (destinations.length === 0) return [];
  const { name, namespace } = binding.metadata;
  const { hostname, path } = binding.spec;
  return [
    {
      apiVersion: apiVersionOf(HTTPRoute),
      kind: HTTPRoute.kind,
      metadata: { name, namespace, labels: copyLabels(binding, [LABELS.route, LABELS.space, LABELS.org]) },
      spec: {
        parentRefs: [parent],
        hostnames: [hostname],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: path || "/" } }],
            backendRefs: needsRelay(binding) ? [RELAY_BACKEND] : planBackends(destinations),
          },
        ],
      },
    },
  ];
}

/** None without a destination: connections are closed then. */
export function planTCPRoute(binding: RouteBinding, parent: ParentRef): Draft[] {
  const destinations = servedDestinations(binding);
  if (destinations.length === 0) return [];
  const { name, namespace } = binding.metadata;
  return [
    {
      apiVersion: apiVersionOf(TCPRoute),
      kind: TCPRoute.kind,
      metadata: { name, namespace, labels: copyLabels(binding, [LABELS.route, LABELS.space, LABELS.org]) },
      spec: { parentRefs: [parent], rules: [{ backendRefs: planBackends(destinations) }] },
    },
  ];
}

const RELAY_BACKEND = { group: "", kind: "Service", name: RELAY_SERVICE, port: RELAY_PORT, weight: 1 };

/** Group and kind are the server's defaults, given so that a repeated apply finds no difference. */
function planBackends(destinations: readonly RouteDestination[]): object[] {
  return destinations.map((destination) => ({
    group: "",
    kind: "Service",
    ...(destination.namespace !== undefined && { namespace: destination.namespace }),
    name: serviceName(destination),
    port: destination.port,
    weight: destination.weight ?? 1,
  }));
}

/** The route's status from the gateway's controller. `waitMs`: it has not answered yet; look again then. */
export interface GatewayVerdict {
  problem?: ReadyDraft;
  waitMs?: number;
}

/** A route that is not in the cache yet is treated as one made now. */
export function judgeRoute(route: GatewayRoute | undefined, parent: ParentRef, now: Date): GatewayVerdict {
  if (!route) return judgeSilence(now, parent, now);
  const answer = route.status?.parents?.find(({ parentRef }) => isSameParent(parentRef, parent, route));
  // After a change of the route the last answer stands until the controller gives another: a change has no time of its own.
  if (answer) return judgeConditions(answer.conditions ?? [], route.metadata.generation ?? 0, parent);
  return judgeSilence(new Date(route.metadata.creationTimestamp ?? now), parent, now);
}

function judgeSilence(made: Date, { namespace, name }: ParentRef, now: Date): GatewayVerdict {
  const waitMs = made.getTime() + ANSWER_MS - now.getTime();
  if (waitMs > 0) return { waitMs };
  return {
    problem: notReady(
      "GatewayDoesNotAnswer",
      `no controller has taken this route up for Gateway ${namespace}/${name}; look whether that Gateway exists and is Programmed: kubectl get gateways -n ${namespace}`,
    ),
  };
}

function judgeConditions(conditions: readonly Condition[], generation: number, parent: ParentRef): GatewayVerdict {
  const rejection = ["Accepted", "ResolvedRefs"]
    .map((type) => conditions.find((condition) => condition.type === type))
    .find((condition) => condition?.status === "False" && (condition.observedGeneration ?? 0) >= generation);
  return rejection ? { problem: presentRejection(rejection, parent) } : {};
}

function isSameParent(answered: ParentRef, parent: ParentRef, { metadata }: GatewayRoute): boolean {
  return (
    answered.name === parent.name &&
    (answered.namespace ?? metadata.namespace) === parent.namespace &&
    answered.sectionName === parent.sectionName &&
    answered.port === parent.port
  );
}

/** Next steps for the reasons that the Gateway API defines. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  NotAllowedByListeners: "let its listeners take routes of this namespace: allowedRoutes.namespaces",
  NoMatchingListenerHostname: "add a listener for this hostname, or one without a hostname",
  NoMatchingParent: "correct parameters.sectionName of BackendClass gateway, or add that listener",
  BackendNotFound: "the Service is made again by itself; look whether the operation gateway-router runs",
  RefNotPermitted:
    "the ReferenceGrant for a Service of another space is made again by itself; look whether the operation gateway-router runs, and at the rights of the Gateway's controller",
};

const NEXT_STEPS_OF_TCP: Readonly<Record<string, string>> = {
  ...NEXT_STEPS,
  NoMatchingParent:
    "add a listener of protocol TCP at this port to the Gateway, or take the port out of parameters.tcpPorts",
  NotAllowedByListeners:
    "let the listener at this port have protocol TCP, and take routes of this namespace: allowedRoutes.namespaces; or take the port out of parameters.tcpPorts",
  UnsupportedProtocol:
    "the Gateway's controller serves no TCPRoutes; take parameters.tcpPorts out of BackendClass gateway",
};

function presentRejection({ reason, message }: Condition, { namespace, name, port }: ParentRef): ReadyDraft {
  const said = message ? `: ${message.replace(/\.$/, "")}` : "";
  const next = (port === undefined ? NEXT_STEPS : NEXT_STEPS_OF_TCP)[reason];
  return notReady(
    reason,
    `Gateway ${namespace}/${name} does not serve it (${reason})${said}${next ? `; ${next}` : ""}`,
  );
}
