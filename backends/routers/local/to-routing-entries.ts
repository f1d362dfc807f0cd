// From the resources to the table's entries. Pure.
import { LOCAL_CLUSTER } from "../../../crds/cluster/local-cluster.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { isServing, servingInstances, type ServingInstance } from "../../../crds/lrp/serving-instances.ts";
import type { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { TCPRoute } from "./tcp-listeners.ts";
import type { Destination, Endpoint, RouteEntry } from "./routing-table.ts";

/** Instances of an LRP that may take requests. */
export function toEndpoints(lrp: LRP): Endpoint[] {
  const { app, processGUID, processType } = lrp.spec;
  return servingInstances(lrp).flatMap((instance) =>
    toInstanceEndpoints(instance, { appGUID: app.guid, processGUID, processType }),
  );
}

/** Instances of a process on other clusters, as the platform last saw them; those on its own are in LRPs. */
export function toRemoteEndpoints({ metadata, spec, status }: PlacementDecision): Endpoint[] {
  if (metadata.deletionTimestamp) return [];
  const remote = (status?.clusters ?? []).filter(({ name, deleting }) => name !== LOCAL_CLUSTER && !deleting);
  return remote.flatMap(({ processGUID, instances = [] }) =>
    instances
      .filter(isServing)
      .flatMap((instance) =>
        toInstanceEndpoints(instance, { appGUID: spec.app, processGUID, processType: spec.processType }),
      ),
  );
}

function toInstanceEndpoints(
  { index, host, ports = [], guid = "" }: ServingInstance,
  process: Pick<Endpoint, "appGUID" | "processGUID" | "processType">,
): Endpoint[] {
  return ports.map(({ port, hostPort }) => ({ ...process, port, host, hostPort, index, instanceGUID: guid }));
}

/** The route of a binding; undefined for what this router does not serve. */
export function toRouteEntry(binding: RouteBinding): RouteEntry | undefined {
  const { routeGUID, hostname, path, port, internal, destinations, routeService } = binding.spec;
  if (binding.metadata.deletionTimestamp || port !== 0) return undefined;
  return {
    guid: routeGUID,
    space: binding.metadata.namespace ?? "",
    hostname,
    path,
    destinations: destinations.map(toDestination),
    ...toBalancing(binding),
    ...(internal && { internal }),
    ...(routeService && { routeService: routeService.url }),
    order: `${binding.metadata.creationTimestamp} ${binding.metadata.namespace}/${binding.metadata.name}`,
  };
}

/** The TCP route of a binding; undefined for one of HTTP. */
export function toTCPRoute({ metadata, spec }: RouteBinding): TCPRoute | undefined {
  const { routeGUID: guid, port, destinations } = spec;
  if (metadata.deletionTimestamp || port === 0) return undefined;
  const order = `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`;
  return { guid, port, destinations: destinations.map(toDestination), order };
}

function toDestination({
  appGUID,
  app,
  processType,
  port,
  protocol,
}: RouteBinding["spec"]["destinations"][number]): Destination {
  return { appGUID, app, processType, port, ...(protocol === "http2" && { http2: true }) };
}

function toBalancing({
  spec: { loadBalancing, hashHeader, hashBalance },
}: RouteBinding): Pick<RouteEntry, "loadBalancing" | "hashHeader" | "hashBalance"> {
  return {
    ...(loadBalancing && { loadBalancing }),
    ...(hashHeader !== undefined && { hashHeader: hashHeader.toLowerCase() }),
    ...(hashBalance !== undefined && { hashBalance: Number(hashBalance) }),
  };
}

/** Features of this binding that the class lacks; undefined when it has all. */
export function findLimitation(binding: RouteBinding): { reason: string; message: string } | undefined {
  const { port, internal, destinations } = binding.spec;
  if (port !== 0) return undefined;
  if (internal)
    return {
      reason: "InternalByRouter",
      message:
        "router local serves an internal route to programs of this machine, at its own port; names of the domain must resolve here, as those below localhost do",
    };
  if (destinations.some((each) => each.protocol === "tcp"))
    return {
      reason: "ProtocolNotSupported",
      message: "router local speaks HTTP to apps; destinations with protocol tcp are reached by HTTP/1.1",
    };
  if (destinations.some((each) => each.weight !== undefined))
    return {
      reason: "WeightsNotSupported",
      message: "router local spreads by number of instances; weights are ignored",
    };
  return undefined;
}
