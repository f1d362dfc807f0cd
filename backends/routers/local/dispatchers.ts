// The connections to instances, by the protocol that they speak.
import { Agent, type Dispatcher, H2CClient } from "undici";
import { maxRequestsPerInstance } from "./endpoint-chooser.ts";

export interface Dispatchers {
  http1: Dispatcher;
  /** Without TLS, from the first byte on. */
  http2: Dispatcher;
  /** Cuts off what is under way. */
  destroy(): Promise<void>;
}

/** Opens no connection before the first request to an instance. */
export function createDispatchers(): Dispatchers {
  const common = { connect: { timeout: 5000 }, keepAliveTimeout: 4000, maxHeaderSize: 256 << 10 };
  const http1 = new Agent({ ...common, connections: maxRequestsPerInstance, pipelining: 1 });
  const streams = { maxConcurrentStreams: maxRequestsPerInstance, pipelining: maxRequestsPerInstance };
  const http2 = new Agent({
    ...common,
    factory: (origin, options) => new H2CClient(origin, { ...options, ...streams }),
  });
  return {
    http1,
    http2,
    async destroy() {
      await Promise.all([http1.destroy(), http2.destroy()]);
    },
  };
}
