// The rules of a security group: which are valid, in CF's words, and what they open. Pure.
import { parseAddress, parseRange, type AddressRange, type Family } from "./addresses.ts";
import type { SecurityRule } from "./security-group.ts";

const PROTOCOLS = ["tcp", "udp", "icmp", "icmpv6", "all"];
const KEYS = ["code", "description", "destination", "log", "ports", "protocol", "type"];
const MAX_DESTINATIONS = 6000;

/** Faults in a rule of a request; empty when there are none. */
export function findRuleProblems(rule: unknown): string[] {
  if (typeof rule !== "object" || rule === null || Array.isArray(rule)) return ["must be an object"];
  const given = rule as Record<string, unknown>;
  const unknown = Object.keys(given).filter((key) => !KEYS.includes(key));
  return [
    ...(unknown.length > 0 ? [`unknown field(s): [${unknown.map((key) => `"${key}"`).join(", ")}]`] : []),
    ...(PROTOCOLS.includes(given["protocol"] as string)
      ? []
      : ["protocol must be 'tcp', 'udp', 'icmp', 'icmpv6' or 'all'"]),
    ...findDestinationProblems(given["destination"], given["protocol"]),
    ...(isSet(given["description"]) && typeof given["description"] !== "string"
      ? ["description must be a string"]
      : []),
    ...(isSet(given["log"]) && typeof given["log"] !== "boolean" ? ["log must be a boolean"] : []),
    ...findProtocolProblems(given),
  ];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function findDestinationProblems(destination: unknown, protocol: unknown): string[] {
  if (destination === undefined || destination === null)
    return [
      "nil destination; destination must be a comma-delimited list of valid CIDRs, IP addresses, or IP address ranges",
    ];
  if (typeof destination !== "string") return ["destination must be a string"];
  if (/\s/.test(destination)) return ["destination must not contain whitespace"];
  const parts = destination.split(",");
  const tooMany = parts.length > MAX_DESTINATIONS;
  return [
    ...(tooMany ? [`maximum destinations per rule exceeded - must be under ${MAX_DESTINATIONS}`] : []),
    ...new Set(parts.slice(0, MAX_DESTINATIONS).flatMap((part) => findPartProblems(part, protocol))),
  ];
}

const FAMILIES: ReadonlyMap<unknown, Family> = new Map([
  ["icmp", 4],
  ["icmpv6", 6],
]);
const NOT_VALID = "destination must contain valid CIDR(s), IP address(es), or IP address range(s)";

function findPartProblems(part: string, protocol: unknown): string[] {
  if (part === "") return ["empty destination specified in comma-delimited list", NOT_VALID];
  const ends = part.split("-");
  if (ends.some(hasLeadingZero)) return ["destination octets cannot contain leading zeros"];
  const range = ends.length === 2 ? parseRange(ends[0] ?? "", ends[1] ?? "") : parseAddress(part);
  if (range) return findRangeProblems(range, protocol);
  return [ends.length === 2 ? "destination IP address range is invalid" : NOT_VALID];
}

const INVERTED =
  "beginning of IP address range is numerically greater than the end of its range (range endpoints are inverted)";

function findRangeProblems({ first, last, family }: AddressRange, protocol: unknown): string[] {
  const wanted = FAMILIES.get(protocol) ?? family;
  return [
    ...(first > last ? [INVERTED] : []),
    ...(wanted === family ? [] : [`for protocol "${String(protocol)}" you cannot use IPv${family} addresses`]),
  ];
}

function hasLeadingZero(address: string): boolean {
  return !address.includes(":") && address.split(/[./]/).some((octet) => /^0\d/.test(octet));
}

function findProtocolProblems(rule: Record<string, unknown>): string[] {
  const { protocol, ports } = rule;
  if (protocol === "tcp" || protocol === "udp") return findPortProblems(ports);
  if (protocol === "icmp" || protocol === "icmpv6")
    return [...findICMPProblems("code", rule["code"]), ...findICMPProblems("type", rule["type"])];
  return protocol === "all" && isSet(ports) ? ["ports are not allowed for protocols of type all"] : [];
}

function findPortProblems(ports: unknown): string[] {
  return [
    ...(isSet(ports) ? [] : ["ports are required for protocols of type TCP and UDP"]),
    ...(typeof ports === "string" && parsePorts(ports)
      ? []
      : ["ports must be a valid single port, comma separated list of ports, or range or ports, formatted as a string"]),
  ];
}

function findICMPProblems(field: "code" | "type", value: unknown): string[] {
  const isValid = Number.isInteger(value) && Number(value) >= -1 && Number(value) <= 255;
  return [
    ...(isSet(value) ? [] : [`${field} is required for protocols of type ICMP`]),
    ...(isValid ? [] : [`${field} must be an integer between -1 and 255 (inclusive)`]),
  ];
}

/** A port, several, or a range; undefined for anything else. */
export function parsePorts(text: string): { from: number; to: number }[] | undefined {
  const [, from, to] = /^\s*(\d{1,5})\s*-\s*(\d{1,5})\s*$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    const range = { from: Number(from), to: Number(to) };
    return isPort(range.from) && isPort(range.to) && range.from < range.to ? [range] : undefined;
  }
  const ports = text.split(",").map((part) => (/^\s*\d{1,5}\s*$/.test(part) ? Number(part) : 0));
  return ports.every(isPort) ? ports.map((port) => ({ from: port, to: port })) : undefined;
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65535;
}

/** The addresses that a rule opens; what cannot be read opens nothing. */
export function destinationsOf({ destination }: Pick<SecurityRule, "destination">): AddressRange[] {
  return destination.split(",").flatMap((part) => {
    const [from = "", to, ...more] = part.split("-");
    if (more.length > 0) return [];
    const range = to === undefined ? parseAddress(from) : parseRange(from, to);
    return range && range.first <= range.last ? [range] : [];
  });
}
