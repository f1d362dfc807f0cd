// Which security groups apply to a space, and what they open.
import { expect, test } from "vitest";
import type { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { selectGroups, toEgress } from "./security-groups.ts";

const group = (name: string, spec: object = {}, namespace = "cupola-system"): SecurityGroup =>
  ({
    metadata: { name, namespace },
    spec: { name, rules: [], globallyEnabled: { running: false, staging: false }, ...spec },
  }) as unknown as SecurityGroup;

test("a space has the groups of all spaces and those that it names, by lifecycle", () => {
  const known = [
    group("public", { globallyEnabled: { running: true, staging: false } }),
    group("registry", { globallyEnabled: { running: false, staging: true } }),
    group("database"),
    group("others"),
    group("mine", { globallyEnabled: { running: true, staging: true } }, "acme-dev"),
  ];
  const space = { spec: { securityGroups: { running: ["database"], staging: [] } } } as never;
  const { running, staging } = selectGroups(space, known);
  const names = (groups: readonly SecurityGroup[]): string[] => groups.map(({ metadata }) => metadata.name);
  expect([names(running), names(staging)]).toEqual([["database", "public"], ["registry"]]);
});

test("each rule is an egress rule; ICMP and what cannot be read open nothing", () => {
  const rules = [
    { protocol: "tcp", destination: "10.0.0.4-10.0.0.7", ports: "5432" },
    { protocol: "udp", destination: "10.0.0.0/8,192.168.0.1", ports: "8000-8080" },
    { protocol: "all", destination: "0.0.0.0/0" },
    { protocol: "icmp", destination: "10.0.0.1", type: 0, code: 0 },
    { protocol: "tcp", destination: "everywhere", ports: "80" },
    { protocol: "tcp", destination: "10.0.0.1", ports: "none" },
  ];
  const block = (cidr: string): object => ({ ipBlock: { cidr } });
  expect(toEgress([group("all", { rules })]).rules).toEqual([
    { to: [block("10.0.0.4/30")], ports: [{ protocol: "TCP", port: 5432 }] },
    {
      to: [block("10.0.0.0/8"), block("192.168.0.1/32")],
      ports: [{ protocol: "UDP", port: 8000, endPort: 8080 }],
    },
    { to: [block("0.0.0.0/0")] },
  ]);
});

test("groups with more address blocks than a NetworkPolicy takes are left out whole; the others count", () => {
  const wide = Array.from({ length: 60 }, (_none, at) => `${at + 1}.0.0.1-${at + 1}.255.255.254`).join(",");
  const large = group("large", { rules: [{ protocol: "all", destination: wide }] });
  const small = group("small", { rules: [{ protocol: "all", destination: "10.0.0.1" }] });
  const huge = group("huge", { rules: Array.from({ length: 1000 }, () => ({ protocol: "all", destination: wide })) });
  expect(toEgress([small, huge, small]).leftOut).toEqual(["huge"]);
  expect(toEgress([small, huge, small]).rules).toHaveLength(2);
  expect(toEgress([large, large]).leftOut).toEqual(["large"]);
});
