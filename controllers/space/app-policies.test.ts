// NetworkPolicies of AppPolicies: a rule on each side, of the right apps, in the right namespaces.
import { expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { appPolicyName } from "../../crds/app-policy/rules.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { planAppPolicyNetwork } from "./app-policies.ts";

const app = (namespace: string, name: string): App =>
  ({ metadata: { namespace, name, uid: `uid-${namespace}-${name}` } }) as App;
const apps = [app("front", "web"), app("back", "api"), app("back", "db")];
const findApp = (namespace: string, name: string): App | undefined =>
  apps.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
const policy = (name: string, spec: object = {}): AppPolicy =>
  makeObject(AppPolicy, name, {
    metadata: { namespace: "back" },
    spec: {
      source: { namespace: "front", app: "web" },
      destination: { app: "api" },
      ports: { start: 8080, end: 8090 },
      ...spec,
    },
  });
const plan = (namespace: string, ...policies: AppPolicy[]) => planAppPolicyNetwork({ namespace, policies, findApp });
const labels = (uid: string): object => ({ matchLabels: { "cupola.dev/app-guid": uid } });
const inNamespace = (name: string): object => ({ matchLabels: { "kubernetes.io/metadata.name": name } });
const PORTS = [{ protocol: "TCP", port: 8080, endPort: 8090 }];

test("the destination's space opens the way in, the source's the way out", () => {
  expect(plan("back", policy("p"))).toMatchObject([
    {
      metadata: { namespace: "back" },
      spec: {
        podSelector: labels("uid-back-api"),
        policyTypes: ["Ingress"],
        ingress: [
          { from: [{ namespaceSelector: inNamespace("front"), podSelector: labels("uid-front-web") }], ports: PORTS },
        ],
      },
    },
  ]);
  expect(plan("front", policy("p"))).toMatchObject([
    {
      metadata: { namespace: "front" },
      spec: {
        podSelector: labels("uid-front-web"),
        policyTypes: ["Egress"],
        egress: [
          { to: [{ namespaceSelector: inNamespace("back"), podSelector: labels("uid-back-api") }], ports: PORTS },
        ],
      },
    },
  ]);
});

test("within a space both; several of an app are one object, in the same order whatever order they come in", () => {
  const inside = policy("a", { source: { namespace: "back", app: "db" } });
  const found = plan("back", inside);
  expect(found.map(({ spec }) => (spec as { policyTypes: string[] }).policyTypes)).toEqual([["Ingress"], ["Egress"]]);
  const [one, two] = [policy("a"), policy("b", { protocol: "udp", ports: { start: 53, end: 53 } })];
  expect(plan("back", one, two)).toEqual(plan("back", two, one));
  expect(plan("back", one, two)).toHaveLength(1);
  const names = [...found, ...plan("back", one)].map(({ metadata }) => metadata?.name);
  expect(new Set(names).size).toBe(2);
});

test("a policy of the CF API opens nothing for a later app of the same name; one that goes by names does", () => {
  const known = { sourceUID: "an-earlier-web", destinationUID: "uid-back-api" };
  const stale = (name: string): AppPolicy => ({ ...policy(name), status: known });
  const name = appPolicyName(policy("p").spec);
  expect([plan("back", stale(name)), plan("front", stale(name))]).toEqual([[], []]);
  expect(plan("back", stale("by-kubectl"))).toHaveLength(1);
});

test("the oldest policies of an app fill its object", () => {
  const many = Array.from({ length: 510 }, (_, at) => {
    const one = policy(`p-${at}`, { ports: { start: at + 1, end: at + 1 } });
    const creationTimestamp = new Date(1_000_000_000 - at * 1000).toISOString();
    return { ...one, metadata: { ...one.metadata, creationTimestamp } };
  });
  const [object] = plan("back", ...many) as { spec?: { ingress: { ports: { port: number }[] }[] } }[];
  const ports = object?.spec?.ingress.map((rule) => rule.ports[0]?.port) ?? [];
  expect([ports.length, ports.includes(510), ports.includes(1)]).toEqual([500, true, false]);
});

test.each([
  ["whose source is gone", policy("p", { source: { namespace: "front", app: "gone" } })],
  ["whose destination is gone", policy("p", { destination: { app: "gone" } })],
  ["that is being deleted", { ...policy("p"), metadata: { ...policy("p").metadata, deletionTimestamp: "now" } }],
])("a policy %s opens nothing", (_what, one) => {
  expect([plan("back", one), plan("front", one)]).toEqual([[], []]);
});
