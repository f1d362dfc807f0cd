// Addresses of a name in an internal domain: of all instances that are ready, or of one by its index. Pure.
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { LrpInstance } from "../../../crds/lrp/lrp.ts";
import {
  CLASS_IN,
  isQuery,
  RCODES,
  toAddressType,
  TYPE_A,
  TYPE_AAAA,
  TYPE_ANY,
  type DNSAnswer,
  type DNSQuestion,
} from "./dns-message.ts";

export interface NamesView {
  /** Whether all caches are filled; until then nothing is known to be missing. */
  isSynced(): boolean;
  /** Names of internal domains. The caches throw until they are filled, here and below. */
  listDomains(): readonly string[];
  findBinding(hostname: string): RouteBinding | undefined;
  /** Instances of all destinations of the binding. */
  listInstances(binding: RouteBinding): readonly LrpInstance[];
}

/** An answer of a name has so many addresses at most; an app may have more instances. */
const MAX_ADDRESSES = 100;

/** @param turn where in the list of addresses the answer begins, so that clients which take the first spread */
export function resolve(question: DNSQuestion, view: NamesView, turn: number): DNSAnswer {
  if (!isQuery(question)) return { rcode: RCODES.notImplemented, addresses: [] };
  if (!view.isSynced()) return { rcode: RCODES.serverFailure, addresses: [] };
  const zone = view.listDomains().find((domain) => question.name === domain || question.name.endsWith(`.${domain}`));
  if (zone === undefined || question.class !== CLASS_IN) return { rcode: RCODES.refused, addresses: [] };
  // The domain itself has no address, but it exists.
  if (question.name === zone) return { rcode: RCODES.noError, addresses: [], zone };
  const found = findInstances(question.name, view);
  if (!found) return { rcode: RCODES.nameError, addresses: [], zone };
  const wanted = question.type === TYPE_ANY ? [TYPE_A, TYPE_AAAA] : [question.type];
  const addresses = [...new Set(found.flatMap(({ host }) => host ?? []))]
    .filter((address) => wanted.includes(toAddressType(address)))
    .toSorted();
  return { rcode: RCODES.noError, addresses: rotate(addresses, turn).slice(0, MAX_ADDRESSES), zone };
}

/** Undefined where there is no such name. */
function findInstances(name: string, view: NamesView): readonly LrpInstance[] | undefined {
  const readyOf = (binding: RouteBinding): LrpInstance[] =>
    view.listInstances(binding).filter(({ ready, state, host }) => ready && state === "Running" && host !== undefined);
  const binding = view.findBinding(name);
  if (binding) return readyOf(binding);
  const [, index, hostname] = /^(\d{1,5})\.(.+)$/.exec(name) ?? [];
  const indexed = hostname === undefined ? undefined : view.findBinding(hostname);
  if (!indexed) return undefined;
  const instances = readyOf(indexed).filter((instance) => instance.index === Number(index));
  return instances.length > 0 ? instances : undefined;
}

function rotate<T>(list: readonly T[], turn: number): T[] {
  const at = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
