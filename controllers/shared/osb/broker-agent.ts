// Connections to brokers: to the addresses that a rule opens only, judged where they are used, so that a name which changes its address in between changes nothing.
import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import type { AddressRule } from "./broker-addresses.ts";

/** Code of a connection that the rule forbids. */
export const ADDRESS_FORBIDDEN = "ERR_BROKER_ADDRESS";
const CONNECT_MS = 10_000;
const RESOLVE_MS = 5_000;

/** All addresses of a host. @throws for a host that has none */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** For brokers that may have any address. */
export const OPEN_AGENT = new Agent({ connect: { lookup: lookupAny, timeout: CONNECT_MS } });

export interface ConnectionRules {
  /** Any address without it. */
  mayConnect?: AddressRule | undefined;
  /** PEM; those that Node.js trusts without it. */
  ca?: string | undefined;
}

/** For one request: a connection that is kept would outlive the rules. */
export function createGuardedAgent({ mayConnect, ca }: ConnectionRules, resolve: Resolve = resolveByServers): Agent {
  const lookup = mayConnect ? guardedLookup(mayConnect, resolve) : lookupAny;
  const connect = buildConnector({ lookup, timeout: CONNECT_MS, ...(ca !== undefined && { ca }) });
  return new Agent({
    connect(options, callback) {
      // A host that is an address is not looked up.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      if (isIP(host) && mayConnect?.(host) === false) callback(forbidden(), null);
      else connect(options, callback);
    },
  });
}

/** For connections that are kept for other requests: the rule for a host is asked for at each new one. */
export function createGuardedConnector(
  ruleOf: (hostname: string) => AddressRule,
  timeoutMs: number,
  resolve: Resolve = resolveByServers,
): buildConnector.connector {
  const lookup: LookupFunction = (hostname, ...rest) => guardedLookup(ruleOf(hostname), resolve)(hostname, ...rest);
  const connect = buildConnector({ lookup, timeout: timeoutMs });
  return (options, callback) => {
    // A host that is an address is not looked up.
    const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIP(host) && !ruleOf(host)(host)) callback(forbidden(), null);
    else connect(options, callback);
  };
}

/** Looks hosts up, and gives the addresses that a rule opens; without a rule all. */
export function toLookup(mayConnect: AddressRule | undefined): LookupFunction {
  return mayConnect ? guardedLookup(mayConnect, resolveByServers) : lookupAny;
}

/** Names below localhost are this machine's, though not every resolver knows (RFC 6761). */
function lookupAny(...[hostname, options, callback]: Parameters<LookupFunction>): void {
  lookup(/(^|\.)localhost\.?$/i.test(hostname) ? "localhost" : hostname, options, callback);
}

function guardedLookup(mayConnect: AddressRule, resolve: Resolve): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const open = addresses.filter(mayConnect).map((address) => ({ address, family: isIP(address) }));
        const [first] = open;
        if (!first) callback(forbidden(), []);
        else if (all) callback(null, open);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, []),
    );
  };
}

/** Not by the system's resolver, whose few threads the slow name server of one tenant would hold. */
async function resolveByServers(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw Object.assign(new Error("the host has no address"), { code: "ENOTFOUND" });
}

function forbidden(): NodeJS.ErrnoException {
  return Object.assign(new Error("this address is not open to brokers and route services of spaces"), {
    code: ADDRESS_FORBIDDEN,
  });
}
