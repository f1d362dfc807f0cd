// The router's own answers: they say which of route, app and instance is missing, for the person who asked. Pure.
import type { Endpoint, Match } from "./routing-table.ts";

/** An answer of the router. `error` is the value of X-Cf-RouterError. */
export interface RouterResponse {
  status: number;
  error: string;
  text: string;
}

export const routerResponses = {
  starting: (): RouterResponse => ({
    status: 503,
    error: "router_starting",
    text: "503 Service Unavailable: The router does not know the routes yet. Try again in a moment.",
  }),
  emptyHost: (): RouterResponse => ({
    status: 400,
    error: "empty_host",
    text: "400 Bad Request: Request had empty Host header",
  }),
  badTarget: (): RouterResponse => ({
    status: 400,
    error: "invalid_target",
    text: "400 Bad Request: A request for an app needs a path; * asks the server itself.",
  }),
  unknownRoute: (host: string): RouterResponse => ({
    status: 404,
    error: "unknown_route",
    text: `404 Not Found: Requested route ('${host}') does not exist.`,
  }),
  noApp: (host: string): RouterResponse => ({
    status: 404,
    error: "no_endpoints",
    text: `404 Not Found: Requested route ('${host}') exists, but is mapped to no app. Map one with: cf map-route`,
  }),
  noInstance: (host: string, { route }: Match): RouterResponse => {
    const names = [
      ...new Set(
        route.destinations.map(({ app, processType }) =>
          processType === "web" ? app : `${app} (process ${processType})`,
        ),
      ),
    ].join(", ");
    // gorouter's default: a route whose app is stopped is no route.
    return {
      status: 404,
      error: "no_endpoints",
      text: `404 Not Found: Requested route ('${host}') leads to app ${names}, which has no instance that is ready. See: cf app ${route.destinations[0]?.app ?? ""}`,
    };
  },
  invalidInstanceSelector: (error: string): RouterResponse => ({
    status: 400,
    error,
    text: `400 Bad Request: ${error}: give <guid>:<index>`,
  }),
  unknownInstance: (): RouterResponse => ({
    status: 400,
    error: "unknown_route",
    text: "400 Bad Request: The route has no instance that the header names.",
  }),
  busy: (app: string, limit: number): RouterResponse => ({
    status: 503,
    error: "connection_limit_reached",
    text: `503 Service Unavailable: Each instance of app ${app} has ${limit} requests under way, the most that one takes. Scale the app, or see why it does not answer: cf logs ${app} --recent`,
  }),
  appBusy: (app: string, limit: number): RouterResponse => ({
    status: 503,
    error: "connection_limit_reached",
    text: `503 Service Unavailable: App ${app} has ${limit} requests of routes with a route service under way, the most that this proxy sends to one app. See why it does not answer: cf logs ${app} --recent`,
  }),
  spaceBusy: (limit: number): RouterResponse => ({
    status: 503,
    error: "connection_limit_reached",
    text: `503 Service Unavailable: The routes of this space that have a route service have ${limit} requests under way, the most that this proxy takes of one space on their way to services, and as many on their way back. See why the services or the apps do not answer.`,
  }),
  failed: (endpoint: Endpoint | undefined, app: string, reason: string): RouterResponse => ({
    status: 502,
    error: `endpoint_failure (${reason})`,
    text: `502 Bad Gateway: Registered endpoint failed to handle the request. App ${app}, instance ${endpoint?.index ?? "?"}: ${reason}`,
  }),
  invalidSignature: (): RouterResponse => ({
    status: 502,
    error: "signature_validation_failed",
    text: "502 Bad Gateway: The signature of the route service is not valid for this request. A route service sends X-CF-Proxy-Signature and X-CF-Proxy-Metadata back as it got them, to the URL of X-CF-Forwarded-Url.",
  }),
  expiredSignature: (): RouterResponse => ({
    status: 504,
    error: "expired_route_service_signature",
    text: "504 Gateway Timeout: The route service sent the request back after more than 60 seconds.",
  }),
  noUpgrade: (): RouterResponse => ({
    status: 503,
    error: "route_service_unsupported",
    text: "503 Service Unavailable: A route with a route service takes no WebSockets.",
  }),
  serviceFailed: (reason: string): RouterResponse => ({
    status: 502,
    error: `endpoint_failure (${reason})`,
    text: `502 Bad Gateway: The route service of this route did not answer: ${reason}`,
  }),
  serviceBusy: (limit: number): RouterResponse => ({
    status: 503,
    error: "connection_limit_reached",
    text: `503 Service Unavailable: The route service of this route has ${limit} requests under way, the most that it gets at once.`,
  }),
  serviceTimeout: (seconds: number): RouterResponse => ({
    status: 504,
    error: "endpoint_failure (timeout)",
    text: `504 Gateway Timeout: The route service of this route did not answer within ${seconds} seconds.`,
  }),
  timeout: (endpoint: Endpoint, seconds: number): RouterResponse => ({
    status: 504,
    error: "endpoint_failure (timeout)",
    text: `504 Gateway Timeout: Instance ${endpoint.index} did not answer within ${seconds} seconds.`,
  }),
} as const;
