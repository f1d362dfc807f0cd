// From the resources to the entries of the proxy: the routes of a cluster's routers that have a route service, and the Services of their apps. Pure.
import { LABELS } from "../../../../crds/labels.ts";
import { processTypeLabel } from "../../../../crds/process/defaults.ts";
import type { RouteBinding } from "../../../../crds/route-binding/route-binding.ts";
import type { Service } from "../../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../../kube/api/resource-ref.ts";
import { type RouteDestination, servedDestinations } from "../../services/plan.ts";
import type { Destination, Endpoint, RouteEntry } from "../routing-table.ts";
import { toRouteEntry } from "../to-routing-entries.ts";

/** Undefined for a route that the router serves itself. */
export function toProxiedEntry(binding: RouteBinding): RouteEntry | undefined {
  const served = servedDestinations(binding);
  const entry = toRouteEntry(binding);
  if (!entry?.routeService || served.length === 0) return undefined;
  const { guid, space, hostname, path, routeService, order } = entry;
  const weights = served.map(({ weight = 1 }) => weight);
  const unit = weights.reduce(greatestDivisor);
  // A destination stands in the list as often as its weight says; requests take turns.
  const destinations = served.flatMap((each, at) =>
    Array.from({ length: (weights[at] ?? 1) / unit }, () => toDestination(each)),
  );
  return { guid, space, hostname, path, routeService, order, destinations };
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** Services know the process type as a label has it. */
function toDestination({ appGUID, app, processType, port, protocol }: RouteDestination): Destination {
  return {
    appGUID,
    app,
    processType: processTypeLabel(processType),
    port,
    ...(protocol === "http2" && { http2: true }),
  };
}

/** A Service of the routers. */
export function toServiceEndpoints(service: ObjectOf<typeof Service>): Endpoint[] {
  const { namespace, name, labels = {}, deletionTimestamp } = service.metadata;
  const { [LABELS.app]: appGUID, [LABELS.processType]: processType } = labels;
  const address = addressOf(service);
  if (deletionTimestamp || !appGUID || !processType || !address) return [];
  const instanceGUID = `${namespace}/${name}`;
  return [{ appGUID, processGUID: "", processType, ...address, index: 0, instanceGUID, isService: true }];
}

/** Undefined until the API server has given it one. */
function addressOf({ spec }: ObjectOf<typeof Service>): Pick<Endpoint, "port" | "host" | "hostPort"> | undefined {
  const host = spec?.clusterIP;
  const [first] = spec?.ports ?? [];
  if (!host || host === "None" || !first) return undefined;
  return { port: first.port, host, hostPort: first.port };
}
