// The router class `ingress`: renders a RouteBinding as an Ingress and a Service of the cluster.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Ingress, Service } from "../../../kube/api/builtin.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import {
  findLimitation,
  planIngress,
  planServices,
  planServiceSpec,
  SERVICE_CONTROLLER,
  servedDestinations,
  serviceName,
} from "./plan.ts";

export const INGRESS_CLASS = "ingress";

export const ingressCapabilities: Readonly<Record<string, string>> = {
  http1: "true",
  http2: "true",
  websocket: "true",
  tcp: "false",
  weights: "false",
  internal: "false",
  crossSpace: "false",
  destinations: "1",
};

const SERVICE_INDEX = "ingress/service";
const CLASS_INDEX = "ingress/class";

/** The controllers of the class: Ingresses, the Services they share, and the class's capabilities. */
export function ingressRouter(): Controller[] {
  return [
    bindingController,
    serviceController,
    classController({ name: INGRESS_CLASS, role: "router", capabilities: ingressCapabilities }),
  ];
}

function isOurs(binding: RouteBinding): boolean {
  return binding.spec.class === INGRESS_CLASS;
}

function serviceKeys(binding: RouteBinding): { namespace?: string; name: string }[] {
  return isOurs(binding)
    ? servedDestinations(binding).map((destination) => ({
        namespace: binding.metadata.namespace,
        name: serviceName(destination),
      }))
    : [];
}

const bindingController = defineController({
  name: "ingress-router",
  for: RouteBinding,
  owns: [Ingress],
  reads: [Service],
  permissions: [{ resource: Service, verbs: ["create", "patch"] }],
  indexes: {
    [SERVICE_INDEX]: (binding: RouteBinding) =>
      serviceKeys(binding).map(({ namespace, name }) => `${namespace}/${name}`),
    [CLASS_INDEX]: (binding: RouteBinding) => [binding.spec.class],
  },
  watches: [
    watch(BackendClass, (backend) => ({ [CLASS_INDEX]: backend.metadata.name })),
    // A deleted Service is made again.
    watch(Service, (service) => ({ [SERVICE_INDEX]: `${service.metadata.namespace}/${service.metadata.name}` })),
  ],
  selects: isOurs,

  reconcile(binding, { read }) {
    const parameters = read.find(BackendClass, { name: INGRESS_CLASS })?.spec.parameters ?? {};
    const limitation = findLimitation(binding);
    return {
      children: planIngress(binding, parameters),
      createOnce: planServices(binding),
      ...(limitation && { ready: { status: "False", reason: "NotSupported", message: limitation.message } }),
    };
  },
});

/** Several routes share a Service, so it has no owner: it stays as long as one of them names it, and the first one decides its spec. */
const serviceController = defineController({
  name: SERVICE_CONTROLLER,
  for: Service,
  selects: (service) => service.metadata.labels?.[LABELS.managedBy] === SERVICE_CONTROLLER,
  writesStatus: false,
  watches: [watch(RouteBinding, serviceKeys)],
  permissions: [{ resource: Service, verbs: ["delete"] }],

  async reconcile(service, { read, client }) {
    const { namespace, name, uid } = service.metadata;
    const destination = read
      .byIndex(RouteBinding, SERVICE_INDEX, `${namespace}/${name}`, namespace)
      .flatMap(servedDestinations)
      .find((candidate) => serviceName(candidate) === name);
    if (destination) return { spec: { ...planServiceSpec(destination) } };
    try {
      await client.delete(Service, service.metadata, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return {};
  },
});
