// From a RouteBinding to an Ingress. Pure.
import { LABELS } from "../../../crds/labels.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { IngressClass } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ReadyDraft } from "../../../kube/controller/controller.ts";
import {
  copyLabels,
  needsRelay,
  RELAY_PORT,
  RELAY_SERVICE,
  servedDestinations,
  serviceName,
} from "../services/plan.ts";
import { notReady } from "../services/present-binding.ts";

type IngressClassObject = ObjectOf<typeof IngressClass>;

const DEFAULT_CLASS_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

/** Settings of the class (BackendClass.spec.parameters). */
export interface IngressParameters {
  /** Name of the IngressClass; the cluster's default when left out. */
  ingressClassName?: string;
}

/** The IngressClass of the Ingresses, or why there is none. */
export type IngressClassChoice = { name: string } | { problem: ReadyDraft };

/** The named IngressClass, else the cluster's default; of several defaults the youngest, as the API server takes it. */
export function chooseIngressClass(
  parameters: IngressParameters,
  classes: readonly IngressClassObject[],
): IngressClassChoice {
  const { ingressClassName } = parameters;
  if (ingressClassName !== undefined) {
    if (classes.some(({ metadata }) => metadata.name === ingressClassName)) return { name: ingressClassName };
    const known = classes.map(({ metadata }) => metadata.name).toSorted();
    return {
      problem: notReady(
        "IngressClassMissing",
        `the cluster has no IngressClass ${ingressClassName}, which parameters.ingressClassName of BackendClass ingress names; it has: ${known.join(", ") || "none"}`,
      ),
    };
  }
  const [chosen] = classes
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === "true")
    .toSorted((a, b) => ageOrder(a, b));
  if (chosen) return { name: chosen.metadata.name };
  return {
    problem: notReady(
      "IngressClassMissing",
      `no IngressClass is the cluster's default, so no ingress controller serves this route; set parameters.ingressClassName of BackendClass ingress, or annotate an IngressClass ${DEFAULT_CLASS_ANNOTATION}=true`,
    ),
  };
}

/** Youngest first, then by name. */
function ageOrder({ metadata: a }: IngressClassObject, { metadata: b }: IngressClassObject): number {
  const [younger, older] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""];
  return younger === older ? (a.name < b.name ? -1 : 1) : younger > older ? -1 : 1;
}

/** `ingressClassName` is undefined while the cluster has none: the Ingress waits for one. */
export function planIngress(binding: RouteBinding, ingressClassName: string | undefined): Draft[] {
  const [destination] = servedDestinations(binding);
  if (!destination) return [];
  const { name, namespace } = binding.metadata;
  const { hostname, path } = binding.spec;
  const service = needsRelay(binding)
    ? { name: RELAY_SERVICE, port: { number: RELAY_PORT } }
    : { name: serviceName(destination), port: { number: destination.port } };
  return [
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace, labels: copyLabels(binding, [LABELS.route, LABELS.space, LABELS.org]) },
      spec: {
        ...(ingressClassName !== undefined && { ingressClassName }),
        rules: [{ host: hostname, http: { paths: [{ path: path || "/", pathType: "Prefix", backend: { service } }] } }],
      },
    },
  ];
}
