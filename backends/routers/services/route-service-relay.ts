// Leads requests of routes with a route service to the proxy: a Service in their own namespace, as an Ingress needs one, with the addresses of the proxy's pods.
import { LABELS } from "../../../crds/labels.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { ROUTE_SERVICE_PORT, ROUTE_SERVICE_PROXY } from "../../../crds/route-service-proxy.ts";
import { EndpointSlice, Service } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { apiVersionOf, type ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { defineController, watch, type Controller, type MapResult } from "../../../kube/controller/controller.ts";
import { deleteUnneeded } from "./delete-unneeded.ts";
import { copyLabels, needsRelay, RELAY_PORT, RELAY_SERVICE } from "./plan.ts";

type EndpointSliceObject = ObjectOf<typeof EndpointSlice>;

const RELAY_CONTROLLER = "route-service-relay";
const RELAY_INDEX = "routers/relay";
const SERVICE_NAME = "kubernetes.io/service-name";
const SLICE_MANAGER = "endpointslice.kubernetes.io/managed-by";
const PORT_NAME = "http";
/** Kubernetes allows 1,000 in a slice; nobody runs so many proxies. */
const MAX_ADDRESSES = 500;

const isProxySlice = ({ metadata }: KubeObject): boolean => metadata.labels?.[SERVICE_NAME] === ROUTE_SERVICE_PROXY;

/** A watch of the proxy's addresses. */
export function watchProxy(mapTo: () => MapResult): ReturnType<typeof watch> {
  return watch(EndpointSlice, (slice) => (isProxySlice(slice) ? mapTo() : []), { namespace: SYSTEM_NAMESPACE });
}

function listProxySlices(read: Reader): EndpointSliceObject[] {
  return read.list(EndpointSlice, { namespace: SYSTEM_NAMESPACE }).filter(isProxySlice);
}

/** The capability of a router class: whether a proxy is installed. */
export function toRouteServiceCapability(read: Reader): { routeServices: string } {
  return { routeServices: String(listProxySlices(read).length > 0) };
}

/** None for a binding that the router leads to its apps. */
export function planRelayService(binding: RouteBinding): Draft[] {
  if (!needsRelay(binding)) return [];
  const labels = {
    ...copyLabels(binding, [LABELS.space, LABELS.org]),
    [LABELS.managedBy]: RELAY_CONTROLLER,
  };
  const metadata = { name: RELAY_SERVICE, namespace: binding.metadata.namespace, labels };
  return [{ apiVersion: "v1", kind: Service.kind, metadata, spec: RELAY_SPEC }];
}

/** Without a selector: its addresses are in the slices that this controller keeps. */
const RELAY_SPEC = {
  type: "ClusterIP",
  ports: [{ name: PORT_NAME, port: RELAY_PORT, protocol: "TCP", targetPort: ROUTE_SERVICE_PORT }],
};

/** The relay's own slices, one for each family of addresses. Pure. */
export function planRelaySlices(namespace: string, slices: readonly EndpointSliceObject[]): Draft[] {
  return [...Map.groupBy(slices, ({ addressType }) => addressType)].map(([addressType, ofType]) => ({
    apiVersion: apiVersionOf(EndpointSlice),
    kind: EndpointSlice.kind,
    metadata: {
      name: `${RELAY_SERVICE}-${addressType.toLowerCase()}`,
      namespace,
      labels: { [SERVICE_NAME]: RELAY_SERVICE, [SLICE_MANAGER]: "cupola.dev" },
    },
    addressType,
    ports: [{ name: PORT_NAME, port: ROUTE_SERVICE_PORT, protocol: "TCP" }],
    endpoints: listAddresses(ofType).map((address) => ({ addresses: [address], conditions: { ready: true } })),
  }));
}

/** Addresses of pods that take requests. */
function listAddresses(slices: readonly EndpointSliceObject[]): string[] {
  const ready = slices.flatMap(({ endpoints = [] }) =>
    endpoints.filter(({ conditions }) => conditions?.ready !== false).flatMap(({ addresses }) => addresses),
  );
  return [...new Set(ready)].toSorted().slice(0, MAX_ADDRESSES);
}

/** All bound routes of a namespace share the Service, so it has no owner; it goes with the last one. */
export const relayController: Controller = defineController({
  name: RELAY_CONTROLLER,
  for: Service,
  owns: [EndpointSlice],
  selects: ({ metadata }) => metadata.labels?.[LABELS.managedBy] === RELAY_CONTROLLER,
  writesStatus: false,
  indexes: { [RELAY_INDEX]: ({ metadata }) => [metadata.labels?.[LABELS.managedBy] ?? ""] },
  watches: [
    watch(RouteBinding, ({ metadata: { namespace = "" } }) => [{ namespace, name: RELAY_SERVICE }]),
    watchProxy(() => ({ [RELAY_INDEX]: RELAY_CONTROLLER })),
  ],
  permissions: [{ resource: Service, verbs: ["delete"] }],

  async reconcile(service, { read, client }) {
    const { namespace = "" } = service.metadata;
    if (read.list(RouteBinding, { namespace }).some(needsRelay))
      return { spec: RELAY_SPEC, children: planRelaySlices(namespace, listProxySlices(read)) };
    await deleteUnneeded(Service, service, { read, client });
    return {};
  },
});
