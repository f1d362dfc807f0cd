// The router class `ingress`: renders a RouteBinding as an Ingress of the cluster, with the Service behind it.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Ingress, IngressClass, Service } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { BINDING_INDEXES, BINDING_WATCHES, CLASS_INDEX, listDestinationLRPs } from "../services/binding-watches.ts";
import { planServices, servedDestinations } from "../services/plan.ts";
import { presentBinding } from "../services/present-binding.ts";
import { judgeInstances } from "../services/ready-instances.ts";
import {
  planRelayService,
  relayController,
  toRouteServiceCapability,
  watchProxy,
} from "../services/route-service-relay.ts";
import { SERVICE_PERMISSION, serviceController } from "../services/services.ts";
import { chooseIngressClass, planIngress } from "./plan.ts";

export const INGRESS_CLASS = "ingress";

/** Besides `routeServices`, which depends on the cluster. */
export const ingressCapabilities: Readonly<Record<string, string>> = {
  http1: "true",
  http2: "true",
  websocket: "true",
  tcp: "false",
  weights: "false",
  loadBalancing: "round-robin",
  internal: "false",
  crossSpace: "false",
  destinations: "1",
  wildcardDepth: "1",
};

/** The controllers of the class: Ingresses, the Services behind routes, and the class's capabilities. */
export function ingressRouter(): Controller[] {
  return [
    bindingController,
    serviceController,
    relayController,
    classController({
      name: INGRESS_CLASS,
      role: "router",
      capabilities: (read) => ({ ...ingressCapabilities, ...toRouteServiceCapability(read) }),
      watches: [watchProxy(() => [{ name: INGRESS_CLASS }])],
    }),
  ];
}

const bindingController = defineController({
  name: "ingress-router",
  for: RouteBinding,
  owns: [Ingress],
  reads: [Service],
  permissions: [SERVICE_PERMISSION],
  indexes: BINDING_INDEXES,
  watches: [...BINDING_WATCHES, watch(IngressClass, () => ({ [CLASS_INDEX]: INGRESS_CLASS }))],
  selects: (binding) => binding.spec.class === INGRESS_CLASS,

  reconcile(binding, { read, now }) {
    const parameters = read.find(BackendClass, { name: INGRESS_CLASS })?.spec.parameters ?? {};
    const choice = chooseIngressClass(parameters, read.list(IngressClass));
    const className = "name" in choice ? choice.name : undefined;
    const ingress = read.find(Ingress, binding.metadata);
    const instances = judgeInstances({
      destinations: servedDestinations(binding),
      lrps: listDestinationLRPs(binding, read),
      now: now(),
    });
    const children = planIngress(binding, className);
    const create = [...planServices(binding), ...planRelayService(binding)];
    // The Ingress enqueues its binding as soon as the cache has it. Served is said then: what makes apps reachable is written first.
    if (className && children.length > 0 && !ingress) return { children, create, keepStatus: true };
    return {
      children,
      create,
      ...presentBinding(binding, { ...("problem" in choice && !hasAddress(ingress) && choice), instances }),
    };
  },
});

/** A controller may serve Ingresses without a class; then it has written its address. */
function hasAddress(ingress: ObjectOf<typeof Ingress> | undefined): boolean {
  return (ingress?.status?.loadBalancer?.ingress ?? []).length > 0;
}
