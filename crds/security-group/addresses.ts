// Addresses of security groups: single ones, CIDR ranges and ranges as first-last; and the CIDR ranges that cover them. Pure.
import { z } from "zod";

export type Family = 4 | 6;

/** From first to last, both included. */
export interface AddressRange {
  family: Family;
  first: bigint;
  last: bigint;
}

const BITS: Record<Family, number> = { 4: 32, 6: 128 };

/** An address, or a range in CIDR notation; undefined for anything else. */
export function parseAddress(text: string): AddressRange | undefined {
  const [address = "", bits, ...rest] = text.split("/");
  const family = familyOf(address);
  if (family === undefined || rest.length > 0) return undefined;
  const size = BITS[family];
  const prefix = bits === undefined ? size : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity;
  if (prefix > size) return undefined;
  const host = (1n << BigInt(size - prefix)) - 1n;
  const first = toNumber(address, family) & ~host;
  return { family, first, last: first | host };
}

const ipv4 = z.ipv4();
const ipv6 = z.ipv6();

function familyOf(address: string): Family | undefined {
  if (ipv4.safeParse(address).success) return 4;
  return ipv6.safeParse(address).success ? 6 : undefined;
}

/** Both ends of a range must be single addresses of one family; the order is not checked. */
export function parseRange(from: string, to: string): AddressRange | undefined {
  const [first, last] = [parseAddress(from), parseAddress(to)];
  if (!first || !last || first.family !== last.family || from.includes("/") || to.includes("/")) return undefined;
  return { family: first.family, first: first.first, last: last.last };
}

function toNumber(address: string, family: Family): bigint {
  const groups = family === 4 ? address.split(".").map(Number) : toGroups(address);
  return groups.reduce((sum, group) => (sum << (family === 4 ? 8n : 16n)) + BigInt(group), 0n);
}

/** The eight groups of an IPv6 address, whose end may be written as an IPv4 address. */
function toGroups(address: string): number[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const middle = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array.from({ length: middle }, () => "0"), ...right].map((group) => Number.parseInt(group, 16));
}

/** The fewest CIDR ranges that are exactly this range. */
export function toCIDRs({ family, first, last }: AddressRange): string[] {
  const size = BITS[family];
  const found: string[] = [];
  for (let start = first; start <= last;) {
    let bits = 0;
    while (
      bits < size &&
      (start & ((1n << BigInt(bits + 1)) - 1n)) === 0n &&
      start + (1n << BigInt(bits + 1)) - 1n <= last
    )
      bits += 1;
    found.push(`${format(start, family)}/${size - bits}`);
    start += 1n << BigInt(bits);
  }
  return found;
}

function format(address: bigint, family: Family): string {
  const [count, width] = family === 4 ? [4, 8n] : [8, 16n];
  const groups = Array.from(
    { length: count },
    (_none, at) => (address >> (width * BigInt(count - 1 - at))) & ((1n << width) - 1n),
  );
  if (family === 4) return groups.join(".");
  return shorten(groups.map((group) => group.toString(16)).join(":"));
}

/** Leaves out the longest run of zeros, as everybody writes it. */
function shorten(text: string): string {
  const runs = text.match(/(?<![0-9a-f])0(?::0(?![0-9a-f]))+/g) ?? [];
  const [longest] = runs.toSorted((one, other) => other.length - one.length);
  if (longest === undefined) return text;
  const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
  const head = text.slice(0, at).replace(/:$/, "");
  const tail = text.slice(at + longest.length).replace(/^:/, "");
  return `${head}::${tail}`;
}
