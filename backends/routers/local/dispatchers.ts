// The connections to instances, by the protocol that they speak.
import { Agent, type buildConnector, type Dispatcher, H2CClient } from "undici";
import { maxRequestsPerInstance } from "./endpoint-chooser.ts";

/** Requests that one route may have under way at its route service: a service that does not answer holds no more connections. */
export const maxRequestsPerService = 500;

export interface Dispatchers {
  http1: Dispatcher;
  /** Without TLS, from the first byte on. */
  http2: Dispatcher;
  /** To route services. */
  services: Dispatcher;
  /** Cuts off what is under way. */
  destroy(): Promise<void>;
}

export interface DispatcherOptions {
  /** Requests under way to one address of an app; those of one instance unless said. */
  maxRequests?: number;
  /** Opens connections to route services; to any address without it. */
  connectToService?: buildConnector.connector | undefined;
}

/** Opens no connection before the first request to an instance. */
export function createDispatchers({
  maxRequests = maxRequestsPerInstance,
  connectToService,
}: DispatcherOptions = {}): Dispatchers {
  const common = { connect: { timeout: 5000 }, keepAliveTimeout: 4000, maxHeaderSize: 256 << 10 };
  const http1 = new Agent({ ...common, connections: maxRequests, pipelining: 1 });
  const streams = { maxConcurrentStreams: maxRequests, pipelining: maxRequests };
  const http2 = new Agent({
    ...common,
    factory: (origin, options) => new H2CClient(origin, { ...options, ...streams }),
  });
  const services = new Agent({
    ...common,
    // Places of routes and spaces bound them. A bound by origin would make the routes of all spaces wait that have the same service.
    connections: null,
    pipelining: 1,
    ...(connectToService && { connect: connectToService }),
  });
  return {
    http1,
    http2,
    services,
    async destroy() {
      await Promise.all([http1.destroy(), http2.destroy(), services.destroy()]);
    },
  };
}
