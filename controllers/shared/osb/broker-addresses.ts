// Which addresses the brokers of spaces may have: those that the apps of spaces reach. The controllers reach more, such as other pods and a cloud's metadata service. Pure.
import { BlockList, isIP } from "node:net";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { parseCIDR, parseNetworkSettings, readNetworkSettings, type NetworkSettings } from "../network-settings.ts";

export type AddressRule = (address: string) => boolean;

/** Those of the machine that calls. */
export const OWN_ADDRESSES: readonly string[] = ["0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"];

/** The controllers' own, and no single host's: open only where `broker-egress-cidrs` says so. */
const NEVER_OTHERS = [
  ...OWN_ADDRESSES,
  "224.0.0.0/4",
  "240.0.0.0/4",
  "ff00::/8",
  // Addresses that stand for others, which a gateway translates.
  "64:ff9b::/96",
  "2002::/16",
];

/**
 * Undefined: it may have any, as what the platform's namespace names, a host in a domain whose names are the operator's, or where nobody isolates networks.
 * @param namespace of the object that names the URL; undefined for any space
 */
export function addressRuleOf(url: string, namespace: string | undefined, read: Reader): AddressRule | undefined {
  if (namespace === SYSTEM_NAMESPACE) return undefined;
  const settings = parseSettings(readNetworkSettings(read));
  if (!settings.isolation || isInSharedDomain(url, read)) return undefined;
  return toAddressRule(settings);
}

/** Wrong settings open nothing that the defaults do not. */
function parseSettings(data: Readonly<Record<string, string>> | undefined): NetworkSettings {
  try {
    return parseNetworkSettings(data);
  } catch {
    return parseNetworkSettings(); // the Spaces' conditions say what is wrong
  }
}

function isInSharedDomain(url: string, read: Reader): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : "";
  if (isIP(host)) return false;
  return read
    .list(Domain, { namespace: SYSTEM_NAMESPACE })
    .some(({ spec }) => !spec.internal && host.endsWith(`.${spec.name}`));
}

export function toAddressRule({ egress, routerBlocks, brokerEgress }: NetworkSettings): AddressRule {
  const opened = toRanges(brokerEgress.map(({ cidr }) => cidr));
  const never = toRanges(NEVER_OTHERS);
  const blocks = [...egress, ...routerBlocks].map(({ cidr, except = [] }) => ({
    within: toRanges([cidr]),
    except: toRanges(except),
  }));
  return (address) => {
    const plain = unmapped(address);
    if (isIn(opened, plain)) return true;
    return !isIn(never, plain) && blocks.some(({ within, except }) => isIn(within, plain) && !isIn(except, plain));
  };
}

/** A list for each family: a range of one matches addresses of the other, too. */
export type Ranges = Record<"ipv4" | "ipv6", BlockList>;

export function toRanges(cidrs: readonly string[]): Ranges {
  const ranges = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const cidr of cidrs) {
    const { address, prefix, family } = parseCIDR(cidr);
    ranges[family].addSubnet(address, prefix, family);
  }
  return ranges;
}

/** Also for an IPv4 address that is written as one of IPv6. */
export function isInRanges(ranges: Ranges, address: string): boolean {
  return isIn(ranges, unmapped(address));
}

function isIn(ranges: Ranges, address: string): boolean {
  const version = isIP(address);
  const family = version === 4 ? "ipv4" : "ipv6";
  return version !== 0 && ranges[family].check(address, family);
}

/** An IPv4 address that is written as one of IPv6, which a socket takes for it. */
function unmapped(address: string): string {
  const written = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(written) ?? [];
  if (high === undefined || low === undefined) return address;
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16BE(parseInt(high, 16), 0);
  bytes.writeUInt16BE(parseInt(low, 16), 2);
  return [...bytes].join(".");
}
