// The router class `gateway`: renders a RouteBinding as an HTTPRoute of the Gateway API, with the Services behind it.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Service } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNoKind } from "../../../kube/client/errors.ts";
import { defineController, type Controller, type ReconcileResult } from "../../../kube/controller/controller.ts";
import { BINDING_INDEXES, BINDING_WATCHES, listDestinationLRPs } from "../services/binding-watches.ts";
import { planServices, servedDestinations } from "../services/plan.ts";
import { notReady, presentBinding } from "../services/present-binding.ts";
import { judgeInstances } from "../services/ready-instances.ts";
import { SERVICE_PERMISSION, serviceController } from "../services/services.ts";
import { GATEWAY_CLASS } from "./class-name.ts";
import { HTTPRoute } from "./http-route.ts";
import {
  GRANT_INDEXES,
  GRANT_PERMISSION,
  GRANT_WATCH,
  grantController,
  planReferenceGrants,
  ReferenceGrant,
} from "./reference-grants.ts";
import { judgeHTTPRoute, planHTTPRoute, toParentRef } from "./plan.ts";

export const gatewayCapabilities: Readonly<Record<string, string>> = {
  http1: "true",
  http2: "true",
  websocket: "true",
  tcp: "false",
  weights: "true",
  loadBalancing: "round-robin",
  internal: "false",
  crossSpace: "true",
  destinations: "16",
  wildcardDepth: "any",
};

/** A cluster without the Gateway API is asked again after this time; its watch resumes by itself, too. */
const KIND_RECHECK_MS = 30_000;

/** The controllers of the class: HTTPRoutes, the Services behind routes, what lets routes reach other spaces, and the class's capabilities. */
export function gatewayRouter(): Controller[] {
  return [bindingController, serviceController, grantController, gatewayClassController];
}

const bindingController = defineController({
  name: "gateway-router",
  for: RouteBinding,
  owns: [HTTPRoute],
  reads: [Service, ReferenceGrant],
  permissions: [SERVICE_PERMISSION, GRANT_PERMISSION],
  indexes: { ...BINDING_INDEXES, ...GRANT_INDEXES },
  watches: [...BINDING_WATCHES, GRANT_WATCH],
  selects: (binding) => binding.spec.class === GATEWAY_CLASS,

  reconcile(binding, { read, now }): ReconcileResult {
    const parent = toParentRef(read.find(BackendClass, { name: GATEWAY_CLASS })?.spec.parameters ?? {});
    const lrps = listDestinationLRPs(binding, read);
    const instances = judgeInstances({ destinations: servedDestinations(binding), lrps, now: now() });
    const create = [...planServices(binding, lrps), ...planReferenceGrants(binding)];
    if ("reason" in parent) return { children: [], create, ...presentBinding(binding, { problem: parent, instances }) };
    const children = planHTTPRoute(binding, parent);
    const { problem, waitMs } =
      children.length > 0 ? judgeHTTPRoute(read.find(HTTPRoute, binding.metadata), parent, now()) : {};
    return {
      children,
      create,
      ...presentBinding(binding, { problem, instances }),
      ...(waitMs !== undefined && { keepStatus: true, requeueAfterMs: waitMs }),
    };
  },
});

/** Says in the class's Ready whether the cluster has the Gateway API: without it the controller of bindings cannot start. */
const gatewayClassController = defineController({
  name: `class-${GATEWAY_CLASS}`,
  for: BackendClass,
  selects: ({ metadata, spec }) => metadata.name === GATEWAY_CLASS && spec.role === "router",
  permissions: [HTTPRoute, ReferenceGrant].map((resource) => ({ resource, verbs: ["list"] })),

  async reconcile({ spec }, { client }) {
    const status = { capabilities: gatewayCapabilities };
    if (!(await hasGatewayAPI(client)))
      return {
        status,
        requeueAfterMs: KIND_RECHECK_MS,
        ready: notReady(
          "GatewayAPIMissing",
          "this cluster serves no HTTPRoutes (gateway.networking.k8s.io/v1) or no ReferenceGrants (v1beta1): install the Gateway API's CustomResourceDefinitions and a controller for them",
        ),
      };
    const parent = toParentRef(spec.parameters ?? {});
    return { status, ...("reason" in parent && { ready: parent }) };
  },
});

async function hasGatewayAPI(client: KubeClient): Promise<boolean> {
  try {
    for (const ref of [HTTPRoute, ReferenceGrant]) await client.list(ref, { namespace: SYSTEM_NAMESPACE, limit: 1 });
    return true;
  } catch (error) {
    if (isNoKind(error)) return false;
    throw error;
  }
}
