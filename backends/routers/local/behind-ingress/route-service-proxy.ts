// The proxy of a cluster's routes with a route service: the ingress controller passes their requests on to it. It sends them to the service, knows those that come back, and leads them to the app's Service.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { buildConnector } from "undici";
import { LABELS } from "../../../../crds/labels.ts";
import { RouteBinding } from "../../../../crds/route-binding/route-binding.ts";
import { Service } from "../../../../kube/api/builtin.ts";
import type { Informers } from "../../../../kube/cache/informers.ts";
import { createPlaces } from "../../../../kube/server/places.ts";
import { SERVICE_CONTROLLER } from "../../services/plan.ts";
import { createDispatchers, maxRequestsPerService } from "../dispatchers.ts";
import { createEndpointChooser } from "../endpoint-chooser.ts";
import { beginExchange, type RouterContext, whenKeyIsKnown } from "../exchange.ts";
import { forward } from "../forward.ts";
import { mirror } from "../mirror-store.ts";
import type { RouteServiceKeyring } from "../route-service-key.ts";
import { createRoutingTable } from "../routing-table.ts";
import { toProxiedEntry, toServiceEndpoints } from "./to-proxied-routes.ts";
import { forwardUpgrade } from "../upgrade.ts";

/** Requests under way to one Service of an app. */
const MAX_REQUESTS = 2_000;
/** Requests of one space at its services, and as many that these sent back. One route whose service does not answer takes half of them. */
const MAX_REQUESTS_OF_SPACE = 2 * maxRequestsPerService;
const REQUEST_TIMEOUT_MS = 900_000;

export interface RouteServiceProxyOptions {
  informers: Informers;
  keyring: RouteServiceKeyring;
  /** Opens connections to route services, whose addresses tenants choose. */
  connectToService: buildConnector.connector;
}

export interface RouteServiceProxy {
  /** Always answers. */
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** True once the routes and Services are known; until then the answer is 503. */
  isReady(): boolean;
  /** Ends connections to services and apps; requests under way are cut off. */
  stop(): Promise<void>;
}

/** Bounds of the requests under way: to an app, at a route's service, and of a space. */
function createBounds(): Pick<RouterContext, "chooser" | "servicePlaces" | "spacePlaces"> {
  return {
    chooser: createEndpointChooser(MAX_REQUESTS),
    servicePlaces: createPlaces(maxRequestsPerService),
    spacePlaces: { atServices: createPlaces(MAX_REQUESTS_OF_SPACE), atApps: createPlaces(MAX_REQUESTS_OF_SPACE) },
  };
}

/** Begins to follow routes and Services at once. */
export function createRouteServiceProxy({
  informers,
  keyring,
  connectToService,
}: RouteServiceProxyOptions): RouteServiceProxy {
  const table = createRoutingTable();
  const bindings = informers.ensure(RouteBinding);
  const services = informers.ensure(Service, { labelSelector: `${LABELS.managedBy}=${SERVICE_CONTROLLER}` });
  const endings = [
    mirror(bindings.store, (key, binding) => table.setRoute(key, binding && toProxiedEntry(binding))),
    mirror(services.store, (key, service) => table.setEndpoints(key, service ? toServiceEndpoints(service) : [])),
    () => bindings.release(),
    () => services.release(),
  ];
  // Once known, the table serves on with its content, even while the API server is away.
  let known = false;
  const isReady = (): boolean =>
    (known ||= bindings.store.synced && services.store.synced && keyring.keys() !== undefined);
  const context: RouterContext = {
    table,
    telemetry: { log: () => undefined },
    isSynced: isReady,
    keyring,
    ...createBounds(),
    behindIngress: true,
  };
  const dispatchers = createDispatchers({ maxRequests: MAX_REQUESTS, connectToService });
  const options = { dispatchers, requestTimeoutMs: REQUEST_TIMEOUT_MS };
  return {
    request: (request, response) =>
      whenKeyIsKnown(context, request, () => void forward(beginExchange(context, request), response, options)),
    upgrade: (request, socket, head) =>
      whenKeyIsKnown(context, request, () => void forwardUpgrade(beginExchange(context, request), socket, head)),
    isReady,
    async stop() {
      for (const end of endings) end();
      await dispatchers.destroy();
    },
  };
}
