// The addresses behind a route, computed anew only when the route or an LRP behind it has changed: a question costs no look at every instance. Pure.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { servingInstances, type ServingInstance } from "../../../crds/lrp/serving-instances.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { toAddressType, TYPE_A, TYPE_AAAA, TYPE_ANY } from "./dns-message.ts";

/** Addresses by the type of the question, sorted, each once. */
export type AddressesByType = ReadonlyMap<number, readonly string[]>;

export interface RouteAddresses {
  all: AddressesByType;
  byIndex: ReadonlyMap<number, AddressesByType>;
}

/** A function that remembers the addresses of each route as long as its binding and its LRPs are the same objects. */
export function rememberAddresses(): (binding: RouteBinding, lrps: readonly LRP[]) => RouteAddresses {
  const remembered = new WeakMap<RouteBinding, { lrps: readonly LRP[]; addresses: RouteAddresses }>();
  return (binding, lrps) => {
    const last = remembered.get(binding);
    if (last && last.lrps.length === lrps.length && last.lrps.every((lrp, at) => lrp === lrps[at]))
      return last.addresses;
    const addresses = toRouteAddresses(lrps.flatMap(servingInstances));
    remembered.set(binding, { lrps, addresses });
    return addresses;
  };
}

export function toRouteAddresses(instances: readonly ServingInstance[]): RouteAddresses {
  const byIndex = Map.groupBy(instances, ({ index }) => index);
  return {
    all: toAddressesByType(instances),
    byIndex: new Map([...byIndex].map(([index, group]) => [index, toAddressesByType(group)])),
  };
}

function toAddressesByType(instances: readonly ServingInstance[]): AddressesByType {
  const addresses = [...new Set(instances.map(({ host }) => host))].sort();
  const ofType = (type: number): string[] => addresses.filter((address) => toAddressType(address) === type);
  return new Map([
    [TYPE_A, ofType(TYPE_A)],
    [TYPE_AAAA, ofType(TYPE_AAAA)],
    [TYPE_ANY, addresses],
  ]);
}
