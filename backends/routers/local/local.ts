// Router `local`: serves routes on the HTTP port of platform/. Wires the parts together.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import {
  type ConditionDraft,
  type Controller,
  defineController,
  type ReconcileResult,
} from "../../../kube/controller/controller.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import { createPlaces } from "../../../kube/server/places.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { classController, type ClassPublication } from "../../class-controller.ts";
import { createDispatchers, maxRequestsPerService } from "./dispatchers.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { createTCPListeners, type TCPListeners } from "./tcp-listeners.ts";
import { toEndpoints, toRemoteEndpoints, findLimitation, toRouteEntry, toTCPRoute } from "./to-routing-entries.ts";
import { beginExchange, type RouterContext, whenKeyIsKnown } from "./exchange.ts";
import { forward } from "./forward.ts";
import type { RouteServiceKeyring } from "./route-service-key.ts";
import { mirror } from "./mirror-store.ts";
import { createRoutingTable, type RoutingTable } from "./routing-table.ts";
import { forwardUpgrade } from "./upgrade.ts";

/** The name of this class. */
export const localClass = "local";

/** The capabilities in the class's record. */
export const localCapabilities: Readonly<Record<string, string>> = {
  http1: "true",
  http2: "true",
  websocket: "true",
  tcp: "true",
  weights: "false",
  loadBalancing: "round-robin,least-connection,hash",
  internal: "loopback",
  crossSpace: "true",
  wildcardDepth: "any",
  routeServices: "true",
  accessLog: "true",
};

export interface LocalRouterOptions {
  informers: Informers;
  telemetry: Telemetry;
  endpoint?: ClassPublication["endpoint"];
  /** The keys of signatures for route services. */
  keyring: RouteServiceKeyring;
  /** Deadline of a whole request; 900 s unless said. */
  requestTimeoutMs?: number;
}

export interface LocalRouter {
  controllers: readonly Controller[];
  /** Begins to follow routes and instances. */
  start(): void;
  /** For every request whose host is not the API's. Always answers. */
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** True once the routes and instances are known; until then the answer is 503. */
  isReady(): boolean;
  /** Ends connections to instances; requests under way are cut off. */
  stop(): Promise<void>;
}

/** Makes the router; it answers 503 until `start` was called and the routes are known. */
export function createLocalRouter(options: LocalRouterOptions): LocalRouter {
  const { informers, telemetry, endpoint, keyring, requestTimeoutMs = 900_000 } = options;
  const table = createRoutingTable();
  let followed: FollowedRoutes | undefined;
  // Once known, the table serves on with its content, even while the API server is away.
  let known = false;
  const isReady = (): boolean => (known ||= followed?.isSynced() ?? false);
  const chooser = createEndpointChooser();
  const servicePlaces = createPlaces(maxRequestsPerService);
  const context: RouterContext = { table, chooser, telemetry, keyring, servicePlaces, isSynced: isReady };
  const dispatchers = createDispatchers();
  const enqueue = createEnqueue();
  const listeners = createTCPListeners({ endpointsOf: table.endpointsOf, onChange: enqueue.binding });
  return {
    controllers: [
      bindingController(listeners, enqueue),
      classController({
        name: localClass,
        role: "router",
        capabilities: localCapabilities,
        ...(endpoint && { endpoint }),
      }),
    ],
    start: () => void (followed = followRoutes(informers, { table, listeners, enqueue })),
    handleRequest: (request, response) =>
      whenKeyIsKnown(context, request, () => {
        void forward(beginExchange(context, request), response, { dispatchers, requestTimeoutMs });
      }),
    handleUpgrade: (request, socket, head) =>
      whenKeyIsKnown(context, request, () => void forwardUpgrade(beginExchange(context, request), socket, head)),
    isReady,
    async stop() {
      followed?.stop();
      listeners.close();
      await dispatchers.destroy();
    },
  };
}

/** Wakes the reconcile of a binding whose listener has changed. */
interface Enqueue {
  remember(uid: string, binding: RouteBinding | undefined): void;
  binding(uid: string): void;
  connect(enqueue: (key: ObjectKey) => void): void;
}

function createEnqueue(): Enqueue {
  const keys = new Map<string, ObjectKey>();
  let enqueue: (key: ObjectKey) => void = () => undefined;
  return {
    remember(uid, binding) {
      if (!binding?.spec.port) return void keys.delete(uid);
      const { namespace = "", name } = binding.metadata;
      keys.set(uid, { namespace, name });
    },
    binding(uid) {
      const key = keys.get(uid);
      if (key) enqueue(key);
    },
    connect: (given) => void (enqueue = given),
  };
}

interface Followers {
  table: RoutingTable;
  listeners: TCPListeners;
  enqueue: Enqueue;
}

interface FollowedRoutes {
  isSynced(): boolean;
  stop(): void;
}

/** Keeps the table as the RouteBindings and LRPs say. */
function followRoutes(informers: Informers, { table, listeners, enqueue }: Followers): FollowedRoutes {
  const bindings = informers.ensure(RouteBinding);
  const lrps = informers.ensure(LRP);
  const decisions = informers.ensure(PlacementDecision);
  const disposables = [
    () => decisions.release(),
    () => bindings.release(),
    () => lrps.release(),
    mirror(bindings.store, (key, binding) => {
      const own = binding?.spec.class === localClass ? binding : undefined;
      table.setRoute(key, own && toRouteEntry(own));
      enqueue.remember(key, own);
      listeners.set(key, own && toTCPRoute(own));
    }),
    mirror(lrps.store, (key, lrp) => table.setEndpoints(key, lrp ? toEndpoints(lrp) : [])),
    mirror(decisions.store, (key, decision) => table.setEndpoints(key, decision ? toRemoteEndpoints(decision) : [])),
  ];
  return {
    isSynced: () => bindings.store.synced && lrps.store.synced && decisions.store.synced,
    stop: () => disposables.forEach((dispose) => dispose()),
  };
}

function bindingController(listeners: TCPListeners, enqueue: Enqueue): Controller {
  return defineController({
    name: "router-local",
    for: RouteBinding,
    selects: (binding) => binding.spec.class === localClass,
    sources: [(given) => enqueue.connect(given)],
    reconcile: (binding) => (binding.spec.port === 0 ? presentBinding(binding) : presentTCP(binding, listeners)),
  });
}

function presentTCP({ spec: { port } }: RouteBinding, listeners: TCPListeners): ReconcileResult {
  const isListening = listeners.isListening(port);
  // The listener wakes this when it knows.
  if (isListening === undefined) return { keepStatus: true };
  if (isListening) return { ready: { status: "True", reason: "Routed", message: `port ${port} is served` } };
  const message = `port ${port} of this machine is taken by another program: end that, or make a route with another port`;
  return { ready: { status: "False", reason: "PortTaken", message } };
}

function presentBinding(binding: RouteBinding): ReconcileResult {
  const { hostname, path } = binding.spec;
  const limitation = findLimitation(binding);
  if (limitation && !toRouteEntry(binding)) return { ready: { status: "False", ...limitation } };
  const wasLimited = binding.status?.conditions?.some((condition) => condition.type === "Limited");
  const limited: ConditionDraft = {
    type: "Limited",
    status: limitation ? "True" : "False",
    reason: "None",
    message: "",
    ...limitation,
  };
  return {
    ready: { status: "True", reason: "Routed", message: `${hostname}${path} is served` },
    ...((limitation || wasLimited) && { conditions: [limited] }),
  };
}
