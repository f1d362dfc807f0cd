// The operator's settings of the spaces' networks: ConfigMap `cupola-network` in the system namespace. docs/security.md describes them. Pure.
import { BlockList, isIP } from "node:net";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { NETWORK_CONFIG } from "../../crds/network-config.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { watch } from "../../kube/controller/controller.ts";

/** The watch of a controller that only reads the settings. */
export const NETWORK_SETTINGS_WATCH = watch(ConfigMap, () => [], { namespace: SYSTEM_NAMESPACE });

/** `data` of the ConfigMap. */
export function readNetworkSettings(read: Reader): Readonly<Record<string, string>> | undefined {
  return read.find(ConfigMap, { namespace: SYSTEM_NAMESPACE, name: NETWORK_CONFIG })?.data;
}

export interface LabelRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

export interface IPBlock {
  cidr: string;
  except?: string[];
}

export interface NetworkSettings {
  /** Whether the platform keeps NetworkPolicies at all. */
  isolation: boolean;
  /** Namespaces of routers: they reach apps, and apps reach them. */
  routerNamespaces: LabelRequirement[];
  /** Addresses of routers that are no pods, or run in the network of their node. */
  routerBlocks: IPBlock[];
  /** Whether apps of one space reach each other without a route. */
  sameSpace: boolean;
  /** Addresses that apps and builds reach. */
  egress: IPBlock[];
  /** Addresses that only builds reach, such as a registry in a private network. */
  buildEgress: IPBlock[];
  /** Addresses that brokers of spaces may have besides. */
  brokerEgress: IPBlock[];
}

/** Private, shared and link-local ranges: other pods, nodes, the API server and the cloud's metadata service are in them. */
const PRIVATE_RANGES = "10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16, fc00::/7, fe80::/10";

const DEFAULTS = {
  isolation: "on",
  "router-namespaces": `!${LABELS.namespaceKind}`,
  "router-cidrs": "",
  "same-space": "deny",
  "egress-cidrs": "0.0.0.0/0, ::/0",
  "egress-except": PRIVATE_RANGES,
  "build-egress-cidrs": "",
  "broker-egress-cidrs": "",
} as const;
type Key = keyof typeof DEFAULTS;

/** @param data of the ConfigMap; undefined when there is none. @throws Error that names the key and what it takes */
export function parseNetworkSettings(data: Readonly<Record<string, string>> = {}): NetworkSettings {
  const unknown = Object.keys(data).filter((key) => !(key in DEFAULTS));
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(", ")}; there are: ${Object.keys(DEFAULTS).join(", ")}`);
  const read = <T>(key: Key, parse: (text: string) => T): T => {
    try {
      return parse((data[key] ?? DEFAULTS[key]).trim());
    } catch (cause) {
      throw new Error(`${key}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  };
  const except = read("egress-except", parseCIDRs);
  return {
    isolation: read("isolation", (text) => isFirst(text, ["on", "off"])),
    routerNamespaces: read("router-namespaces", parseSelector),
    routerBlocks: read("router-cidrs", parseCIDRs).map((cidr) => ({ cidr })),
    sameSpace: read("same-space", (text) => isFirst(text, ["allow", "deny"])),
    egress: read("egress-cidrs", parseCIDRs).map((cidr) => withExceptions(cidr, except)),
    buildEgress: read("build-egress-cidrs", parseCIDRs).map((cidr) => ({ cidr })),
    brokerEgress: read("broker-egress-cidrs", parseCIDRs).map((cidr) => ({ cidr })),
  };
}

/** Whether isolation is off, also where other settings are wrong. @param data of the ConfigMap */
export function isIsolationOff(data: Readonly<Record<string, string>> = {}): boolean {
  return data["isolation"]?.trim() === "off";
}

function isFirst(text: string, words: readonly [string, string]): boolean {
  if (!words.includes(text)) throw new Error(`is ${words.join(" or ")}, not ${text || "empty"}`);
  return text === words[0];
}

function parseCIDRs(text: string): string[] {
  const cidrs = text
    .split(/[\s,]+/)
    .map((word) => word.trim())
    .filter(Boolean);
  for (const cidr of cidrs) parseCIDR(cidr);
  return cidrs;
}

interface Range {
  address: string;
  prefix: number;
  family: "ipv4" | "ipv6";
}

/** @throws Error for what is no range */
export function parseCIDR(cidr: string): Range {
  const [address = "", bits = ""] = cidr.split("/");
  const version = isIP(address);
  const prefix = /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity;
  if (version === 0 || prefix > (version === 4 ? 32 : 128))
    throw new Error(`${cidr} is no range of addresses, as in 10.0.0.0/8`);
  return { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** Kubernetes takes only exceptions that lie within the range; one that is the range or holds it was allowed on purpose. */
function withExceptions(cidr: string, exceptions: readonly string[]): IPBlock {
  const range = parseCIDR(cidr);
  const list = new BlockList();
  list.addSubnet(range.address, range.prefix, range.family);
  const except = exceptions.filter((one) => {
    const { address, prefix, family } = parseCIDR(one);
    return family === range.family && prefix > range.prefix && list.check(address, family);
  });
  return { cidr, ...(except.length > 0 && { except }) };
}

const KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** A label selector as kubectl takes it: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, separated by commas. */
function parseSelector(text: string): LabelRequirement[] {
  const parts = text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length === 0) throw new Error("is a label selector, not empty: that would be every namespace");
  return parts.map(parseRequirement);
}

function parseRequirement(part: string): LabelRequirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  const equality = /^([^\s=!]+)\s*(==?|!=)\s*([^\s=]*)$/.exec(part);
  const [, key = "", operator = "", list = ""] = set ?? equality ?? [];
  if (key)
    return checkRequirement(part, {
      key,
      operator: operator === "notin" || operator === "!=" ? "NotIn" : "In",
      values: list.split(",").map((value) => value.trim()),
    });
  return part.startsWith("!")
    ? checkRequirement(part, { key: part.slice(1).trim(), operator: "DoesNotExist" })
    : checkRequirement(part, { key: part, operator: "Exists" });
}

function checkRequirement(part: string, requirement: LabelRequirement): LabelRequirement {
  if (!KEY.test(requirement.key) || !(requirement.values ?? []).every((value) => VALUE.test(value)))
    throw new Error(`${part} is no label selector, as in kubernetes.io/metadata.name in (traefik)`);
  return requirement;
}
