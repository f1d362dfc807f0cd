// The addresses that route services may have on a cluster: tenants choose them, and the proxy, which reaches more than apps do, calls them. Pure.
import {
  addressRuleOf,
  OWN_ADDRESSES,
  toRanges,
  isInRanges,
  type AddressRule,
} from "../../controllers/shared/osb/broker-addresses.ts";
import type { Reader } from "../../kube/cache/reader.ts";

const own = toRanges(OWN_ADDRESSES);

/** As for brokers of spaces. The proxy's own machine is open to nobody, whatever the operator has set. */
export function routeServiceRuleOf(hostname: string, read: Reader): AddressRule {
  const url = `https://${hostname.includes(":") ? `[${hostname}]` : hostname}`;
  const rule = addressRuleOf(url, undefined, read);
  return (address) => !isInRanges(own, address) && (rule?.(address) ?? true);
}
