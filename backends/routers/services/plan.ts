// The Services behind routes, and the destinations for which a router class needs one. Pure.
import { LABELS } from "../../../crds/labels.ts";
import { generatedName } from "../../../crds/object-names.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { processTypeLabel } from "../../../crds/process/defaults.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { ROUTE_SERVICE_PROXY } from "../../../crds/route-service-proxy.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Draft } from "../../../kube/client/client.ts";

export type RouteDestination = RouteBinding["spec"]["destinations"][number];

/** The controller that keeps the Services; its name is their label managed-by. */
export const SERVICE_CONTROLLER = "router-service";

/** Destinations of one route that a class can serve. An Ingress path has one backend; the Gateway API allows 16 in a rule. */
const MAX_DESTINATIONS: Readonly<Record<string, number>> = { ingress: 1, gateway: 16 };

/** Classes whose routes reach Services in the namespaces of other spaces. An Ingress leads to Services beside it only. */
const CROSS_SPACE: readonly string[] = ["gateway"];

/** Where the cluster has TCPRoutes. */
const SERVES_TCP: readonly string[] = ["gateway"];

/** A reason why a class cannot serve a binding, wholly or in part. */
export interface Limitation {
  message: string;
  /** Is anything served? */
  isServed: boolean;
}

/** Features of a binding that its class lacks. */
export function findLimitation({ spec }: RouteBinding): Limitation | undefined {
  const { class: name, port, internal, loadBalancing } = spec;
  const most = MAX_DESTINATIONS[name] ?? 0;
  if (port !== 0 && !SERVES_TCP.includes(name))
    return { message: `class ${name} serves no TCP routes`, isServed: false };
  if (internal) return { message: `class ${name} serves no internal routes`, isServed: false };
  const destinations = spec.destinations.filter((each) => isReachable(name, each));
  const foreign = spec.destinations.find((each) => !isReachable(name, each));
  if (foreign)
    return {
      message: `class ${name} serves no apps of other spaces: ${foreign.app} in ${foreign.namespace ?? ""} gets no requests; use the class gateway`,
      isServed: true,
    };
  if (destinations.length <= most) return findUnknownBalancing(name, loadBalancing);
  const [one = ""] = destinations.map(({ app, processType }) => `${app} (${processType})`);
  return {
    message:
      most === 1
        ? `class ${name} serves one destination of a route, the first: ${one}; remove the others, or use the class gateway`
        : `class ${name} serves ${most} destinations of a route, the first ones; remove some`,
    isServed: true,
  };
}

/** Can the class lead requests to the app's namespace? */
function isReachable(className: string, { namespace }: RouteDestination): boolean {
  return namespace === undefined || CROSS_SPACE.includes(className);
}

function findUnknownBalancing(name: string, wanted: RouteBinding["spec"]["loadBalancing"]): Limitation | undefined {
  if (wanted === undefined || wanted === "round-robin") return undefined;
  return {
    message: `class ${name} does not choose instances: the cluster's ingress does, and ${wanted} is ignored; set it there`,
    isServed: true,
  };
}

/** The destinations that get requests, each by its Service. Empty for a class that needs no Services. */
export function servedDestinations(binding: RouteBinding): RouteDestination[] {
  if (findLimitation(binding)?.isServed === false) return [];
  const { class: name, destinations } = binding.spec;
  return destinations.filter((each) => isReachable(name, each)).slice(0, MAX_DESTINATIONS[name] ?? 0);
}

/** The Service that leads requests of a namespace's bound routes to the proxy of route services, and its port. */
export const RELAY_SERVICE = ROUTE_SERVICE_PROXY;
export const RELAY_PORT = 80;

/** Whether requests of a route go to its route service first. */
export function needsRelay(binding: RouteBinding): boolean {
  const { routeService, port } = binding.spec;
  return routeService !== undefined && port === 0 && servedDestinations(binding).length > 0;
}

/** The namespace of a destination's app, which is also that of its Service. */
export function destinationNamespace(
  { metadata }: Pick<RouteBinding, "metadata">,
  { namespace }: Pick<RouteDestination, "namespace">,
): string {
  return namespace ?? metadata.namespace ?? "";
}

/** The Service of an app's process type and port: one for all routes and all versions that run. */
export function serviceName(destination: Pick<RouteDestination, "app" | "appGUID" | "processType" | "port">): string {
  const { app, appGUID, processType, port } = destination;
  // A Service's name starts with a letter; an app's need not.
  return generatedName(`s-${app}-${processType}-${port}`, `${appGUID}/${processType}/${port}`);
}

/** The Service selects instances of any version of the process, by stable labels. */
export function planServiceSpec(destination: RouteDestination): {
  type: string;
  selector: Record<string, string>;
  ports: object[];
} {
  const { appGUID, processType, port, protocol } = destination;
  return {
    type: "ClusterIP",
    selector: {
      [LABELS.app]: appGUID,
      [LABELS.processType]: processTypeLabel(processType),
      [LABELS.sourceType]: "APP",
    },
    ports: [
      {
        name: "app",
        port,
        protocol: "TCP",
        targetPort: port,
        ...(protocol === "http2" && { appProtocol: "kubernetes.io/h2c" }),
      },
    ],
  };
}

/** The Services that a binding needs. @param lrps of its destinations' apps: they know the space of an app in another one */
export function planServices(binding: RouteBinding, lrps: readonly LRP[] = []): Draft[] {
  return servedDestinations(binding).map((destination) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: serviceName(destination),
      namespace: destinationNamespace(binding, destination),
      labels: {
        [LABELS.app]: destination.appGUID,
        [LABELS.processType]: processTypeLabel(destination.processType),
        ...spaceLabels(
          destination.namespace === undefined
            ? binding
            : lrps.find(({ spec }) => spec.app.guid === destination.appGUID),
        ),
        [LABELS.managedBy]: SERVICE_CONTROLLER,
      },
    },
    spec: planServiceSpec(destination),
  }));
}

/** The labels that name the space and org of an object of that space. */
export function spaceLabels(object: Pick<KubeObject, "metadata"> | undefined): Record<string, string> {
  return object ? copyLabels(object, [LABELS.space, LABELS.org]) : {};
}

/** Those of the object's labels that it has. */
export function copyLabels(
  { metadata: { labels = {} } }: Pick<KubeObject, "metadata">,
  keys: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    keys.flatMap((key): [string, string][] => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  );
}
