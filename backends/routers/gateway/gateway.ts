// The router class `gateway`: renders a RouteBinding as an HTTPRoute or a TCPRoute of the Gateway API, with the Services behind it.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Service } from "../../../kube/api/builtin.ts";
import { TCP_PORTS } from "../../../crds/backend-class/router-group.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { isNoKind } from "../../../kube/client/errors.ts";
import {
  defineController,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import { BINDING_INDEXES, BINDING_WATCHES, listDestinationLRPs } from "../services/binding-watches.ts";
import { planServices, servedDestinations } from "../services/plan.ts";
import { notReady, presentBinding } from "../services/present-binding.ts";
import { judgeInstances } from "../services/ready-instances.ts";
import {
  planRelayService,
  relayController,
  toRouteServiceCapability,
  watchProxy,
} from "../services/route-service-relay.ts";
import { SERVICE_PERMISSION, serviceController } from "../services/services.ts";
import { GATEWAY_CLASS } from "./class-name.ts";
import { type GatewayRoute, HTTPRoute, type ParentRef, TCPRoute } from "./gateway-routes.ts";
import {
  GRANT_INDEXES,
  GRANT_PERMISSION,
  GRANT_WATCH,
  grantController,
  planReferenceGrants,
  ReferenceGrant,
} from "./reference-grants.ts";
import { judgeRoute, planHTTPRoute, planTCPRoute, toParentRef, toTCPParentRef } from "./plan.ts";

/** Besides `tcp` and `routeServices`, which depend on the cluster. */
export const gatewayCapabilities: Readonly<Record<string, string>> = {
  http1: "true",
  http2: "true",
  websocket: "true",
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
  return [
    bindingController,
    tcpController,
    serviceController,
    relayController,
    grantController,
    gatewayClassController,
  ];
}

/** Both controllers of bindings have this, besides their kind of route. */
const BINDING_CONTROLLER = {
  reads: [Service, ReferenceGrant],
  permissions: [SERVICE_PERMISSION, GRANT_PERMISSION],
  indexes: { ...BINDING_INDEXES, ...GRANT_INDEXES },
  watches: [...BINDING_WATCHES, GRANT_WATCH],
};

const bindingController = defineController({
  name: "gateway-router",
  for: RouteBinding,
  owns: [HTTPRoute],
  ...BINDING_CONTROLLER,
  selects: (binding) => binding.spec.class === GATEWAY_CLASS,

  reconcile(binding, context): ReconcileResult {
    if (binding.spec.port === 0)
      return serve(binding, context, {
        plan: planHTTPRoute,
        find: () => context.read.find(HTTPRoute, binding.metadata),
        toParent: (parent) => parent,
      });
    const hasTCP = context.read.find(BackendClass, { name: GATEWAY_CLASS })?.status?.capabilities?.["tcp"] === "true";
    return hasTCP ? { keepStatus: true } : { children: [], ready: notReady("NotSupported", NO_TCP) };
  },
});

const NO_TCP =
  "this cluster serves no TCPRoutes (gateway.networking.k8s.io/v1alpha2): install that CustomResourceDefinition of the Gateway API, and a controller that takes it";

/** It is a controller of its own, since a cluster need not have TCPRoutes. */
const tcpController = defineController({
  name: "gateway-tcp-router",
  for: RouteBinding,
  owns: [TCPRoute],
  ...BINDING_CONTROLLER,
  selects: ({ spec }) => spec.class === GATEWAY_CLASS && spec.port !== 0,

  reconcile: (binding, context): ReconcileResult =>
    serve(binding, context, {
      plan: planTCPRoute,
      find: () => context.read.find(TCPRoute, binding.metadata),
      toParent: (parent) => toTCPParentRef(parent, binding.spec.port),
    }),
});

interface RouteKind {
  plan: (binding: RouteBinding, parent: ParentRef) => Draft[];
  find: () => GatewayRoute | undefined;
  toParent: (parent: ParentRef) => ParentRef;
}

function serve(
  binding: RouteBinding,
  { read, now }: Pick<ReconcileContext, "read" | "now">,
  { plan, find, toParent }: RouteKind,
): ReconcileResult {
  const gateway = toParentRef(read.find(BackendClass, { name: GATEWAY_CLASS })?.spec.parameters ?? {});
  const lrps = listDestinationLRPs(binding, read);
  const instances = judgeInstances({ destinations: servedDestinations(binding), lrps, now: now() });
  const create = [...planServices(binding, lrps), ...planReferenceGrants(binding), ...planRelayService(binding)];
  if ("reason" in gateway) return { children: [], create, ...presentBinding(binding, { problem: gateway, instances }) };
  const parent = toParent(gateway);
  const children = plan(binding, parent);
  const { problem, waitMs } = children.length > 0 ? judgeRoute(find(), parent, now()) : {};
  return {
    children,
    create,
    ...presentBinding(binding, { problem, instances }),
    ...(waitMs !== undefined && { keepStatus: true, requeueAfterMs: waitMs }),
  };
}

/** Says in the class's Ready whether the cluster has the Gateway API: without it the controller of bindings cannot start. */
const gatewayClassController = defineController({
  name: `class-${GATEWAY_CLASS}`,
  for: BackendClass,
  selects: ({ metadata, spec }) => metadata.name === GATEWAY_CLASS && spec.role === "router",
  permissions: [HTTPRoute, ReferenceGrant, TCPRoute].map((resource) => ({ resource, verbs: ["list"] })),

  watches: [watchProxy(() => [{ name: GATEWAY_CLASS }])],

  async reconcile({ spec }, { client, read }) {
    const [hasAPI, hasTCP] = [await serves(client, [HTTPRoute, ReferenceGrant]), await serves(client, [TCPRoute])];
    const status = {
      capabilities: { ...gatewayCapabilities, tcp: String(hasTCP), ...toRouteServiceCapability(read) },
    };
    if (!hasAPI)
      return {
        status,
        requeueAfterMs: KIND_RECHECK_MS,
        ready: notReady(
          "GatewayAPIMissing",
          "this cluster serves no HTTPRoutes (gateway.networking.k8s.io/v1) or no ReferenceGrants (v1beta1): install the Gateway API's CustomResourceDefinitions and a controller for them",
        ),
      };
    const parent = toParentRef(spec.parameters ?? {});
    return {
      status,
      ...("reason" in parent && { ready: parent }),
      // Only a class with ports waits for the kind.
      ...(!hasTCP && spec.parameters?.[TCP_PORTS] !== undefined && { requeueAfterMs: KIND_RECHECK_MS }),
    };
  },
});

async function serves(client: KubeClient, refs: readonly ResourceRef[]): Promise<boolean> {
  try {
    for (const ref of refs) await client.list(ref, { namespace: SYSTEM_NAMESPACE, limit: 1 });
    return true;
  } catch (error) {
    if (isNoKind(error)) return false;
    throw error;
  }
}
