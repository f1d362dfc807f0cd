// TCP routes of router `local`: a listener for each port, whose connections go to instances of the route's destinations.
import { connect, createServer, type Server, type Socket } from "node:net";
import { createEndpointChooser, type EndpointChooser } from "./endpoint-chooser.ts";
import type { Destination, Endpoint } from "./routing-table.ts";

const HOST = "127.0.0.1";
const MAX_CONNECTIONS = 1_000;
const CONNECT_MS = 5_000;
/** For an instance to read what a client that has gone sent last. */
const LINGER_MS = 3_000;
/** How often a port that another program has is tried again. */
const RETRY_MS = 5_000;

/** Each direction ends by itself. */
const SOCKET = { allowHalfOpen: true, noDelay: true, keepAlive: true };

export interface TCPRoute {
  guid: string;
  port: number;
  destinations: readonly Destination[];
  /** Where two routes have the same port, the one that is first in this order serves. */
  order: string;
}

export interface TCPListenersOptions {
  endpointsOf(route: Pick<TCPRoute, "destinations">): readonly Endpoint[];
  /** Called when the answer of `isListening` changes for a route. */
  onChange(key: string): void;
}

export interface TCPListeners {
  /** Serves, changes or (undefined) ends what a RouteBinding says. */
  set(key: string, route: TCPRoute | undefined): void;
  /** Undefined until it is known. */
  isListening(port: number): boolean | undefined;
  close(): void;
}

/** The chooser is not that of HTTP: connections that stay open would take the places of an instance's requests. */
interface Serving extends TCPListenersOptions {
  chooser: EndpointChooser;
}

interface Listener {
  server: Server;
  routes: Map<string, TCPRoute>;
  sockets: Set<Socket>;
  retry: NodeJS.Timeout | undefined;
  listening: boolean | undefined;
}

export function createTCPListeners(options: TCPListenersOptions): TCPListeners {
  const serving: Serving = { ...options, chooser: createEndpointChooser() };
  const ports = new Map<string, number>();
  const listeners = new Map<number, Listener>();
  const remove = (key: string, port: number): void => {
    const listener = listeners.get(port);
    listener?.routes.delete(key);
    ports.delete(key);
    if (!listener || listener.routes.size > 0) return;
    end(listener);
    listeners.delete(port);
  };
  return {
    set(key, route) {
      const before = ports.get(key);
      if (before !== undefined && before !== route?.port) remove(key, before);
      if (!route) return;
      ports.set(key, route.port);
      const known = listeners.get(route.port);
      if (known) return void known.routes.set(key, route);
      const listener = listen(route.port, serving);
      listener.routes.set(key, route);
      listeners.set(route.port, listener);
    },
    isListening: (port) => listeners.get(port)?.listening,
    close() {
      for (const listener of listeners.values()) end(listener);
      listeners.clear();
      ports.clear();
    },
  };
}

function listen(port: number, options: Serving): Listener {
  const listener: Listener = {
    server: createServer(SOCKET, (socket) => void serve(socket, listener, options)),
    routes: new Map(),
    sockets: new Set(),
    retry: undefined,
    listening: undefined,
  };
  const setListening = (listening: boolean): void => {
    if (listener.listening === listening) return;
    listener.listening = listening;
    for (const key of listener.routes.keys()) options.onChange(key);
  };
  const start = (): void => void listener.server.listen(port, HOST);
  listener.server.maxConnections = MAX_CONNECTIONS;
  listener.server.on("listening", () => setListening(true));
  listener.server.on("error", () => {
    setListening(false);
    listener.retry = setTimeout(start, RETRY_MS).unref();
  });
  start();
  return listener;
}

function end({ server, sockets, retry }: Listener): void {
  clearTimeout(retry);
  server.removeAllListeners("error").on("error", () => undefined);
  server.close();
  for (const socket of sockets) socket.destroy();
}

/** Joins a connection with an instance; one that refuses is passed over. */
async function serve(socket: Socket, listener: Listener, options: Serving): Promise<void> {
  track(socket, listener);
  const { chooser, endpointsOf } = options;
  const [route] = [...listener.routes.values()].toSorted((a, b) => (a.order < b.order ? -1 : 1));
  const tried = new Set<Endpoint>();
  while (route && !socket.destroyed) {
    const endpoint = chooser.acquire({ guid: route.guid }, endpointsOf(route), tried);
    if (!endpoint || endpoint === "busy") break;
    tried.add(endpoint);
    const instance = await reach(endpoint);
    if (instance) return join(socket, track(instance, listener), () => chooser.release(endpoint));
    chooser.release(endpoint);
    chooser.markFailed(endpoint);
  }
  socket.destroy();
}

function track(socket: Socket, { sockets }: Listener): Socket {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
  return socket.on("error", () => undefined);
}

/** Undefined where nobody answers in time. */
function reach({ host, hostPort: port }: Endpoint): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...SOCKET, host, port, timeout: CONNECT_MS });
    const fail = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once("error", fail).once("timeout", fail);
    socket.once("connect", () => {
      socket.setTimeout(0).removeListener("error", fail).removeListener("timeout", fail);
      resolve(socket);
    });
  });
}

/** A side that closes closes the other, once that has been sent all there is. */
function join(client: Socket, instance: Socket, onEnd: () => void): void {
  instance.once("close", () => {
    client.destroySoon();
    onEnd();
  });
  client.once("close", () => {
    instance.destroySoon();
    const linger = setTimeout(() => instance.destroy(), LINGER_MS).unref();
    instance.once("close", () => clearTimeout(linger));
  });
  if (client.destroyed) instance.destroy();
  client.pipe(instance);
  instance.pipe(client);
}
