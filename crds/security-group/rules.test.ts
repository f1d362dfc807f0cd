// Rules of security groups as CF judges them, and the ranges that they open.
import { describe, expect, test } from "vitest";
import { parseAddress, toCIDRs } from "./addresses.ts";
import { destinationsOf, findRuleProblems, parsePorts } from "./rules.ts";

const tcp = (more: object): object => ({ protocol: "tcp", destination: "10.0.0.0/8", ports: "80", ...more });
const destination = "destination must contain valid CIDR(s), IP address(es), or IP address range(s)";
const ports =
  "ports must be a valid single port, comma separated list of ports, or range or ports, formatted as a string";

test.each<[unknown, string[]]>([
  [tcp({}), []],
  [tcp({ log: true, description: "web" }), []],
  [tcp({ destination: "10.0.0.1-10.0.0.9" }), []],
  [tcp({ destination: "10.0.0.1,192.168.0.0/16" }), []],
  [tcp({ destination: "2001:db8::/32" }), []],
  [{ protocol: "all", destination: "0.0.0.0/0" }, []],
  [{ protocol: "icmp", destination: "10.0.0.1", type: 0, code: -1 }, []],
  [{ protocol: "icmpv6", destination: "::1", type: 1, code: 1 }, []],
  ["x", ["must be an object"]],
  [tcp({ port: 1 }), ['unknown field(s): ["port"]']],
  [{ destination: "10.0.0.1" }, ["protocol must be 'tcp', 'udp', 'icmp', 'icmpv6' or 'all'"]],
  [
    { protocol: { toString: 1 }, destination: "10.0.0.1" },
    ["protocol must be 'tcp', 'udp', 'icmp', 'icmpv6' or 'all'"],
  ],
  [tcp({ destination: 5 }), ["destination must be a string"]],
  [tcp({ destination: "10.0.0.0/8 " }), ["destination must not contain whitespace"]],
  [tcp({ destination: "10.0.0.256" }), [destination]],
  [tcp({ destination: "10.0.0.0/33" }), [destination]],
  [tcp({ destination: "a-b-c" }), [destination]],
  [tcp({ destination: "10.0.0.01" }), ["destination octets cannot contain leading zeros"]],
  [tcp({ destination: "10.0.0.1-x" }), ["destination IP address range is invalid"]],
  [
    tcp({ destination: "10.0.0.9-10.0.0.1" }),
    ["beginning of IP address range is numerically greater than the end of its range (range endpoints are inverted)"],
  ],
  [tcp({ destination: "10.0.0.1," }), ["empty destination specified in comma-delimited list", destination]],
  [tcp({ ports: undefined }), ["ports are required for protocols of type TCP and UDP", ports]],
  [tcp({ ports: "0" }), [ports]],
  [tcp({ ports: "90-80" }), [ports]],
  [tcp({ ports: "80-90,100" }), [ports]],
  [tcp({ ports: 80 }), [ports]],
  [{ protocol: "all", destination: "10.0.0.1", ports: "80" }, ["ports are not allowed for protocols of type all"]],
  [
    { protocol: "icmp", destination: "10.0.0.1", type: 256, code: 0 },
    ["type must be an integer between -1 and 255 (inclusive)"],
  ],
  [{ protocol: "icmp", destination: "::1", type: 0, code: 0 }, ['for protocol "icmp" you cannot use IPv6 addresses']],
  [tcp({ log: "yes", description: 1 }), ["description must be a string", "log must be a boolean"]],
])("%j", (rule, problems) => expect(findRuleProblems(rule)).toEqual(problems));

describe("what a rule opens", () => {
  test.each<[string, string[]]>([
    ["10.0.0.7", ["10.0.0.7/32"]],
    ["10.1.2.3/8", ["10.0.0.0/8"]],
    ["10.0.0.1-10.0.0.4", ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]],
    ["0.0.0.0-255.255.255.255", ["0.0.0.0/0"]],
    ["10.0.0.0-10.0.0.255,::1", ["10.0.0.0/24", "::1/128"]],
    ["2001:db8::-2001:db8::ffff", ["2001:db8::/112"]],
    ["::/0", ["::/0"]],
    ["fe80:0:0:1::5", ["fe80:0:0:1::5/128"]],
    ["nonsense", []],
    ["10.0.0.9-10.0.0.1", []],
  ])("%s", (text, cidrs) => expect(destinationsOf({ destination: text }).flatMap(toCIDRs)).toEqual(cidrs));

  test("an IPv4 address at the end of an IPv6 one", () =>
    expect(parseAddress("::ffff:1.2.3.4")?.first).toBe(0xffff01020304n));

  test.each<[string, ReturnType<typeof parsePorts>]>([
    ["80", [{ from: 80, to: 80 }]],
    [
      "80,443",
      [
        { from: 80, to: 80 },
        { from: 443, to: 443 },
      ],
    ],
    ["80-90", [{ from: 80, to: 90 }]],
    ["65536", undefined],
    ["", undefined],
  ])("ports %j", (text, found) => expect(parsePorts(text)).toEqual(found));
});
