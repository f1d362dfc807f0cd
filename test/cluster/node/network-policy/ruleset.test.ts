// The rules that each part of a NetworkPolicy becomes.
import { expect, test } from "vitest";
import type { NetworkPolicySpec } from "kubernetes-types/networking/v1.js";
import { matches, renderRuleset } from "./ruleset.ts";

const server = {
  namespace: "a",
  labels: { app: "web" },
  ip: "10.244.0.5",
  ports: [{ name: "http", containerPort: 8080 }],
};
const friend = { namespace: "a", labels: { role: "friend" }, ip: "10.244.0.6", ports: [] };
const stranger = { namespace: "b", labels: { role: "friend" }, ip: "10.244.1.7", ports: [] };
const namespaces = new Map([
  ["a", { team: "a" }],
  ["b", { team: "b" }],
]);

/** The rules of the server's chain in one direction; undefined when there is no such chain. */
function rulesOf(spec: NetworkPolicySpec, direction: "ingress" | "egress" = "ingress", namespace = "a") {
  const policies = [{ metadata: { name: "p", namespace }, spec }];
  const text = renderRuleset({ pods: [server, friend, stranger], namespaces, policies });
  const chain = new RegExp(`chain ${direction}-10-244-0-5 \\{\n([^}]*(?:\\{[^}]*\\}[^}]*)*?)\n\\}`).exec(text)?.[1];
  return chain?.split("\n").map((line) => line.trim());
}
const own = "ip saddr 10.244.0.5 ip daddr 10.244.0.5 return";
const end = "counter drop";
const all = { podSelector: {} };
const web = { podSelector: { matchLabels: { app: "web" } } };

test.each<[string, NetworkPolicySpec, string[]]>([
  ["no rule lets nobody in", web, []],
  ["an empty rule lets everybody in", { ...web, ingress: [{}] }, ["return"]],
  [
    "a podSelector means pods of the policy's namespace",
    { ...web, ingress: [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }] }] },
    ["ip saddr { 10.244.0.6 } return"],
  ],
  [
    "a namespaceSelector means all pods of such namespaces",
    { ...web, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "b" } } }] }] },
    ["ip saddr { 10.244.1.7 } return"],
  ],
  [
    "both selectors in one peer must match",
    {
      ...web,
      ingress: [{ from: [{ namespaceSelector: {}, podSelector: { matchLabels: { role: "friend" } } }] }],
    },
    ["ip saddr { 10.244.0.6, 10.244.1.7 } return"],
  ],
  [
    "peers that match no pod let nobody in",
    { ...web, ingress: [{ from: [{ podSelector: { matchLabels: { x: "y" } } }] }] },
    [],
  ],
  [
    "an ipBlock has exceptions, and one of IPv6 is no IPv4",
    {
      ...web,
      ingress: [{ from: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }, { ipBlock: { cidr: "::/0" } }] }],
    },
    ["ip saddr 0.0.0.0/0 ip saddr != { 10.0.0.0/8 } return"],
  ],
  [
    "ports are numbers, ranges, names and whole protocols",
    {
      ...web,
      ingress: [
        {
          ports: [{ port: 80 }, { port: 1000, endPort: 2000, protocol: "UDP" }, { port: "http" }, { protocol: "SCTP" }],
        },
      ],
    },
    ["tcp dport 80 return", "udp dport 1000-2000 return", "tcp dport 8080 return", "meta l4proto sctp return"],
  ],
  ["a name that the pod does not have opens nothing", { ...web, ingress: [{ ports: [{ port: "other" }] }] }, []],
])("%s", (_, spec, rules) => {
  expect(rulesOf(spec)).toEqual([own, ...rules, end]);
});

test("a policy of another namespace, or for other pods, selects nothing", () => {
  expect(rulesOf(all, "ingress", "b")).toBeUndefined();
  expect(rulesOf({ podSelector: { matchLabels: { app: "other" } } })).toBeUndefined();
});

test("egress rules name destinations; without a type, egress counts only where there are such rules", () => {
  const egress = [{ to: [{ ipBlock: { cidr: "10.96.0.0/16" } }], ports: [{ port: 53, protocol: "UDP" as const }] }];
  expect(rulesOf({ ...all, egress }, "egress")).toEqual([own, "ip daddr 10.96.0.0/16 udp dport 53 return", end]);
  expect(rulesOf(all, "egress")).toBeUndefined();
  expect(rulesOf({ ...all, policyTypes: ["Egress"] }, "egress")).toEqual([own, end]);
  expect(rulesOf({ ...all, policyTypes: ["Egress"] }, "ingress")).toBeUndefined();
});

test.each([
  ["In", ["x"], { key: "x" }, true],
  ["In", ["y"], { key: "x" }, false],
  ["In", ["x"], {}, false],
  ["NotIn", ["x"], { key: "x" }, false],
  ["NotIn", ["x"], {}, true],
  ["Exists", undefined, { key: "" }, true],
  ["Exists", undefined, {}, false],
  ["DoesNotExist", undefined, {}, true],
  ["DoesNotExist", undefined, { key: "" }, false],
])("operator %s %s on %o: %s", (operator, values, labels, expected) => {
  expect(matches({ matchExpressions: [{ key: "key", operator, ...(values && { values }) }] }, labels)).toBe(expected);
});
