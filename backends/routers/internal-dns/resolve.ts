// Addresses of a name in an internal domain: of all instances that serve, or of one by its index. Pure.
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { AddressesByType, RouteAddresses } from "./addresses.ts";
import { CLASS_IN, isQuery, RCODES, type DNSAnswer, type DNSQuestion } from "./dns-message.ts";

export interface NamesView {
  /** Whether all caches are filled; until then nothing is known to be missing. */
  isSynced(): boolean;
  /** Whether this is the name of an internal domain. The caches throw until they are filled, here and below. */
  hasDomain(name: string): boolean;
  findBinding(hostname: string): RouteBinding | undefined;
  findAddresses(binding: RouteBinding): RouteAddresses;
}

/** An answer of a name has so many addresses at most; an app may have more instances. */
const MAX_ADDRESSES = 100;

/** @param turn where in the list of addresses the answer begins, so that clients which take the first spread */
export function resolve(question: DNSQuestion, view: NamesView, turn: number): DNSAnswer {
  if (!isQuery(question)) return { rcode: RCODES.notImplemented, addresses: [] };
  if (!view.isSynced()) return { rcode: RCODES.serverFailure, addresses: [] };
  const zone = findZone(question.name, view);
  if (zone === undefined || question.class !== CLASS_IN) return { rcode: RCODES.refused, addresses: [] };
  // The domain itself has no address, but it exists.
  if (question.name === zone) return { rcode: RCODES.noError, addresses: [], zone };
  const found = findAddresses(question.name, view);
  if (!found) return { rcode: RCODES.nameError, addresses: [], zone };
  return { rcode: RCODES.noError, addresses: takeFrom(found.get(question.type) ?? [], turn), zone };
}

/** The longest internal domain that has the name. */
function findZone(name: string, view: NamesView): string | undefined {
  for (let at = 0; ;) {
    const suffix = name.slice(at);
    if (view.hasDomain(suffix)) return suffix;
    const dot = name.indexOf(".", at);
    if (dot === -1) return undefined;
    at = dot + 1;
  }
}

/** Undefined where there is no such name. */
function findAddresses(name: string, view: NamesView): AddressesByType | undefined {
  const binding = view.findBinding(name);
  if (binding) return view.findAddresses(binding).all;
  const [, index, hostname] = /^(\d{1,5})\.(.+)$/.exec(name) ?? [];
  const indexed = hostname === undefined ? undefined : view.findBinding(hostname);
  return indexed && view.findAddresses(indexed).byIndex.get(Number(index));
}

function takeFrom(list: readonly string[], turn: number): string[] {
  const count = Math.min(list.length, MAX_ADDRESSES);
  return Array.from({ length: count }, (_, at) => list[(turn + at) % list.length] ?? "");
}
