// The proxy through which a cluster's routers lead requests of routes with a route service: how routers find it.

/**
 * Its Service in the system namespace, which the chart makes. Its EndpointSlices tell routers that there is a proxy, and where. The Services that lead to it from
 * the namespaces of spaces have the same name.
 */
export const ROUTE_SERVICE_PROXY = "cupola-route-service";

/** Plain HTTP, as to any app. */
export const ROUTE_SERVICE_PORT = 8080;
