// The NetworkPolicies of a space, by the operator's settings.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { planSpaceNetwork } from "./network-policies.ts";
import { parseNetworkSettings } from "../shared/network-settings.ts";

const plan = (
  settings?: Record<string, string>,
  more: Partial<Parameters<typeof planSpaceNetwork>[0]> = {},
): ReturnType<typeof planSpaceNetwork> =>
  planSpaceNetwork({
    namespace: "acme-dev",
    isAdopted: false,
    groups: { running: [], staging: [] },
    settings,
    appPolicies: [],
    existing: [],
    ...more,
  });

test("without settings, routers reach apps, and apps and builds reach routers, DNS and public addresses", async () => {
  const text = plan().children.map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false }));
  await expect(text.join("---\n")).toMatchFileSnapshot("network.golden.yaml");
});

test("the operator's settings open and close", () => {
  const [apps, builds] = plan({
    "router-namespaces": "kubernetes.io/metadata.name in (traefik, nginx), tier!=test",
    "router-cidrs": "10.1.2.3/32",
    "same-space": "allow",
    "egress-cidrs": "0.0.0.0/0 10.20.0.0/16",
    "egress-except": "10.0.0.0/8, 169.254.0.0/16",
    "build-egress-cidrs": "10.30.0.5/32",
  }).children;
  const routers = [
    {
      namespaceSelector: {
        matchExpressions: [
          { key: "kubernetes.io/metadata.name", operator: "In", values: ["traefik", "nginx"] },
          { key: "tier", operator: "NotIn", values: ["test"] },
        ],
      },
    },
    { ipBlock: { cidr: "10.1.2.3/32" } },
  ];
  // A range within an exception was opened on purpose.
  const outside = [
    { ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "169.254.0.0/16"] } },
    { ipBlock: { cidr: "10.20.0.0/16" } },
  ];
  expect(apps).toMatchObject({
    spec: {
      ingress: [{ from: [...routers, { podSelector: {} }] }],
      egress: [{}, { to: [...routers, { podSelector: {} }, ...outside] }],
    },
  });
  expect(builds).toMatchObject({
    spec: { egress: [{}, { to: [...routers, ...outside, { ipBlock: { cidr: "10.30.0.5/32" } }] }] },
  });
});

test("isolation: off makes none", () => expect(plan({ isolation: "off" }).children).toEqual([]));

test("in an adopted namespace only the platform's pods are isolated", () => {
  const selectors = plan(undefined, { isAdopted: true }).children.map(
    (draft) => (draft["spec"] as { podSelector: unknown }).podSelector,
  );
  expect(selectors).toEqual([
    {
      matchExpressions: [
        { key: "cupola.dev/source-type", operator: "NotIn", values: ["STG"] },
        { key: "cupola.dev/source-type", operator: "Exists" },
      ],
    },
    { matchExpressions: [{ key: "cupola.dev/source-type", operator: "In", values: ["STG"] }] },
  ]);
});

describe("wrong settings", () => {
  test.each<[Record<string, string>, string]>([
    [{ isolaton: "on" }, "unknown: isolaton; there are: isolation,"],
    [{ isolation: "yes" }, "isolation: is on or off, not yes"],
    [{ "same-space": "" }, "same-space: is allow or deny, not empty"],
    [{ "egress-cidrs": "10.0.0.0" }, "egress-cidrs: 10.0.0.0 is no range"],
    [{ "egress-cidrs": "10.0.0.0/33" }, "10.0.0.0/33 is no range"],
    [{ "egress-except": "fe80::/129" }, "egress-except: fe80::/129 is no range"],
    [{ "router-namespaces": "" }, "router-namespaces: is a label selector, not empty"],
    [{ "router-namespaces": "a in traefik" }, "is no label selector"],
  ])("%o are named", (settings, words) => expect(() => parseNetworkSettings(settings)).toThrow(words));

  test("change no policy that there is, and leave no space without one", () => {
    const wrong = { "egress-cidrs": "everything" };
    const existing = [{ metadata: { name: "cupola-apps" }, spec: { podSelector: {}, ingress: [] } }] as never;
    expect(plan(wrong, { existing })).toMatchObject({
      children: [{ metadata: { name: "cupola-apps", namespace: "acme-dev" }, spec: { podSelector: {}, ingress: [] } }],
      problem: { status: "False", reason: "NetworkSettingsInvalid" },
    });
    expect(plan(wrong)).toMatchObject({ children: plan().children, problem: { reason: "NetworkSettingsInvalid" } });
  });

  test("switch no isolation on that is off", () => {
    const wrong = { isolation: " off", "egress-cidrs": "everything" };
    const appPolicies = plan().children;
    expect(plan(wrong, { appPolicies })).toMatchObject({ children: [], problem: { reason: "NetworkSettingsInvalid" } });
  });
});
