// From a RouteBinding to an Ingress, and from its destinations to Services. Pure.
import { LABELS } from "../../../crds/labels.ts";
import { generatedName } from "../../../crds/object-names.ts";
import { processTypeLabel } from "../../../crds/process/defaults.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { Draft } from "../../../kube/client/client.ts";

type Destination = RouteBinding["spec"]["destinations"][number];

/** Settings of the class (BackendClass.spec.parameters). */
export interface IngressParameters {
  /** Name of the IngressClass; the cluster's default when left out. */
  ingressClassName?: string;
}

/** A reason why this class cannot serve a binding, wholly or in part. */
export interface Limitation {
  message: string;
  /** Is anything served? */
  isServed: boolean;
}

/** Features of a binding that an Ingress lacks. */
export function findLimitation({ spec }: RouteBinding): Limitation | undefined {
  if (spec.port !== 0) return { message: "class ingress serves no TCP routes", isServed: false };
  if (spec.internal) return { message: "class ingress serves no internal routes", isServed: false };
  if (spec.destinations.length > 1)
    return { message: "class ingress serves one destination per route: the first one is served", isServed: true };
  return undefined;
}

/** The Service of an app's process type and port: one for all routes and all versions that run. */
export function serviceName(destination: Pick<Destination, "app" | "appGUID" | "processType" | "port">): string {
  const { app, appGUID, processType, port } = destination;
  // A Service's name starts with a letter; an app's need not.
  return generatedName(`s-${app}-${processType}-${port}`, `${appGUID}/${processType}/${port}`);
}

/** The destinations that need a Service. */
export function servedDestinations(binding: RouteBinding): Destination[] {
  return findLimitation(binding)?.isServed === false ? [] : binding.spec.destinations.slice(0, 1);
}

export function planIngress(binding: RouteBinding, parameters: IngressParameters): Draft[] {
  const [destination] = servedDestinations(binding);
  if (!destination) return [];
  const { name, namespace, labels = {} } = binding.metadata;
  const { hostname, path } = binding.spec;
  const kept = [LABELS.route, LABELS.space, LABELS.org].flatMap((key): [string, string][] =>
    labels[key] === undefined ? [] : [[key, labels[key]]],
  );
  const backend = { service: { name: serviceName(destination), port: { number: destination.port } } };
  return [
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace, labels: Object.fromEntries(kept) },
      spec: {
        ...(parameters.ingressClassName && { ingressClassName: parameters.ingressClassName }),
        rules: [{ host: hostname, http: { paths: [{ path: path || "/", pathType: "Prefix", backend }] } }],
      },
    },
  ];
}

/** The Service selects instances of any version of the process, by stable labels. */
export function planServiceSpec(destination: Destination): {
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

export function planServices(binding: RouteBinding): Draft[] {
  const { namespace, labels = {} } = binding.metadata;
  return servedDestinations(binding).map((destination) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: serviceName(destination),
      namespace,
      labels: {
        [LABELS.app]: destination.appGUID,
        [LABELS.processType]: processTypeLabel(destination.processType),
        ...Object.fromEntries(
          [LABELS.space, LABELS.org].flatMap((key): [string, string][] =>
            labels[key] === undefined ? [] : [[key, labels[key]]],
          ),
        ),
        [LABELS.managedBy]: SERVICE_CONTROLLER,
      },
    },
    spec: planServiceSpec(destination),
  }));
}

/** The controller that keeps the Services, by name: it is on their label. */
export const SERVICE_CONTROLLER = "ingress-service";
