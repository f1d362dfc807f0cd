// IP addresses and CIDRs in expressions.
import { BlockList, isIP } from "node:net";
import { CelError, kindOf, typeName, type CelOpaque, type CelValue } from "../values.ts";
import { text, type Library } from "./library.ts";

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}

function ipText(value: CelValue | undefined): string {
  if (typeof value === "string" && isIP(value)) return value;
  if (value !== undefined && kindOf(value) === "opaque" && (value as CelOpaque).type === "net.IP")
    return (value as CelOpaque).toText?.() ?? "";
  throw new CelError(
    `IP Address ${JSON.stringify(typeof value === "string" ? value : null)} parse error during conversion from string`,
  );
}

interface Cidr {
  address: string;
  bits: number;
  text: string;
}

function parseCidr(source: string): Cidr | undefined {
  const [address = "", bits = "", more] = source.split("/");
  const most = { 4: 32, 6: 128 }[isIP(address)];
  if (most === undefined || more !== undefined || !/^(0|[1-9]\d*)$/.test(bits) || Number(bits) > most) return undefined;
  return { address, bits: Number(bits), text: source };
}

function holds(outer: Cidr, address: string): boolean {
  if (family(outer.address) !== family(address)) return false;
  const block = new BlockList();
  block.addSubnet(outer.address, outer.bits, family(outer.address));
  return block.check(address, family(address));
}

function opaque(type: string, source: string, methods: Record<string, (args: CelValue[]) => CelValue>): CelOpaque {
  return {
    celKind: "opaque",
    type,
    call: (method, args) => {
      const apply = methods[method];
      if (!apply) throw new CelError(`no such overload: ${type}.${method}(${args.map(typeName).join(", ")})`);
      return apply(args);
    },
    equals: (other) => other.type === type && other.toText?.() === source,
    toText: () => source,
  };
}

function ip(address: string): CelOpaque {
  const within = (...ranges: string[]) => ranges.some((range) => holds(parseCidr(range) as Cidr, address));
  return opaque("net.IP", address, {
    family: () => BigInt(isIP(address)),
    isLoopback: () => within("127.0.0.0/8", "::1/128"),
    isUnspecified: () => within("0.0.0.0/32", "::/128"),
    isLinkLocalUnicast: () => within("169.254.0.0/16", "fe80::/10"),
    isLinkLocalMulticast: () => within("224.0.0.0/24", "ff02::/16"),
    isGlobalUnicast: () =>
      !within(
        "0.0.0.0/32",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/127",
        "fe80::/10",
        "ff00::/8",
      ),
  });
}

function cidr(range: Cidr): CelOpaque {
  return opaque("net.CIDR", range.text, {
    containsIP: ([address]) => holds(range, ipText(address)),
    containsCIDR: ([other]) => {
      const inner = parseCidr(typeof other === "string" ? other : ((other as CelOpaque).toText?.() ?? ""));
      if (!inner) throw new CelError("network address parse error during conversion from string");
      return inner.bits >= range.bits && holds(range, inner.address);
    },
    ip: () => ip(range.address),
    prefixLength: () => BigInt(range.bits),
  });
}

export const netMethodNames = [
  "family",
  "isLoopback",
  "isUnspecified",
  "isLinkLocalUnicast",
  "isLinkLocalMulticast",
  "isGlobalUnicast",
  "containsIP",
  "containsCIDR",
  "ip",
  "prefixLength",
];

export const cidrs: Library = {
  functions: {
    ip: (source) => ip(ipText(source)),
    isIP: (source) => isIP(text(source)) !== 0,
    cidr: (source) => {
      const range = parseCidr(text(source));
      if (!range)
        throw new CelError(`network address parse error during conversion from string: ${JSON.stringify(source)}`);
      return cidr(range);
    },
    isCIDR: (source) => parseCidr(text(source)) !== undefined,
  },
  methods: {},
};
