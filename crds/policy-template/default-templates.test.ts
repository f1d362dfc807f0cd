// Each shipped template, with an object that it allows and one that it denies.
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import { SecurityGroup } from "../security-group/security-group.ts";
import { anApp, aProcess, makeObject } from "../testing/objects.ts";
import { Package } from "../package/package.ts";
import { Route } from "../route/route.ts";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import type { Constraint } from "./constraint.ts";
import { policyTemplateObjects } from "./default-templates.ts";
import { evaluate, prepareConstraint } from "./evaluate.ts";
import { templateFault } from "./lint.ts";
import { toNamespaceLabels } from "../space/namespace-labels.ts";
import { PolicyTemplate } from "./policy-template.ts";

const templates = policyTemplateObjects().map((object) =>
  makeObject(PolicyTemplate, object.metadata.name, { spec: object["spec"] as object }),
);

/** Messages of a shipped template about an object in the org acme. */
function messages(kind: string, parameters: Record<string, unknown>, object: KubeObject): string[] {
  const template = templates.find(({ spec }) => spec.kind === kind);
  if (!template) throw new Error(`no template ${kind}`);
  const constraint = {
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind,
    metadata: { name: "one" },
    spec: { parameters, enforcement: { action: "deny" } },
  } as Constraint;
  const prepared = prepareConstraint(template.spec, constraint, new Date(0));
  const namespaceLabels = toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev" } });
  return evaluate([prepared], { point: "write", operation: "CREATE", object, namespaceLabels }).violations.map(
    ({ message }) => message,
  );
}

test("there are ten", () => {
  expect(templates).toHaveLength(10);
});

test.each(templates.map((template) => [template.spec.kind, template] as const))(
  "%s can be put in force",
  (_, { spec }) => {
    expect(templateFault(spec)).toBeUndefined();
  },
);

const labels = [{ key: "owner", pattern: "^[a-z]+$" }];
const aPackage = (image: string) =>
  makeObject(Package, "p", { spec: { appRef: { name: "shop" }, type: "docker", image } });
const aRoute = (spec: object) => makeObject(Route, "r", { spec: { domainRef: { name: "example.com" }, ...spec } });
const aGroup = (destination: string) =>
  makeObject(SecurityGroup, "g", { spec: { name: "g", rules: [{ protocol: "tcp", destination, ports: "80" }] } });

describe.each<[string, Record<string, unknown>, { good: KubeObject; bad: KubeObject; message: string }]>([
  [
    "RequiredLabels",
    { labels },
    {
      good: anApp({}, { metadata: { labels: { owner: "team" } } }),
      bad: anApp({}, { metadata: { labels: { owner: "7" } } }),
      message: "needs the label owner that matches ^[a-z]+$",
    },
  ],
  [
    "AllowedImages",
    { prefixes: ["ghcr.io/acme/"] },
    {
      good: aPackage("ghcr.io/acme/shop:1"),
      bad: aPackage("ghcr.io/acme-evil/shop:1"),
      message: "the image ghcr.io/acme-evil/shop:1 is not from ghcr.io/acme/",
    },
  ],
  [
    "AllowedImages",
    { prefixes: ["ghcr.io/"], digestOnly: true },
    {
      good: aPackage(`ghcr.io/shop@sha256:${"a".repeat(64)}`),
      bad: aPackage("ghcr.io/shop:1"),
      message: "name the image by its digest, as image@sha256:…",
    },
  ],
  [
    "AllowedBuildpacks",
    { names: ["java", "go"] },
    {
      good: anApp({ lifecycle: { type: "buildpack", buildpacks: ["go"] } }),
      bad: anApp({ lifecycle: { type: "buildpack", buildpacks: ["php"] } }),
      message: "the buildpacks are java, go",
    },
  ],
  [
    "AllowedBuildpacks",
    { names: ["java"], allowDetection: false },
    { good: anApp({ lifecycle: { type: "docker" } }), bad: anApp(), message: "name a buildpack (cf push -b): java" },
  ],
  [
    "SizeLimit",
    { maxMemoryMB: 512 },
    { good: aProcess({ memoryMB: 512 }), bad: aProcess({ memoryMB: 513 }), message: "at most 512 MB of memory" },
  ],
  [
    "SizeLimit",
    { maxCPU: "1.5" },
    { good: aProcess({ cpu: "1500m" }), bad: aProcess({ cpu: "1501m" }), message: "at most 1.5 of CPU" },
  ],
  [
    "MinimumInstances",
    { min: 2 },
    { good: aProcess({ instances: 0 }), bad: aProcess({ instances: 1 }), message: "needs at least 2 instances" },
  ],
  [
    "DomainsDenied",
    { domains: ["example.com"] },
    {
      good: aRoute({ domainRef: { name: "apps.example" } }),
      bad: aRoute({}),
      message: "no routes on the domain example.com",
    },
  ],
  [
    "HostPattern",
    { pattern: "[a-z]+" },
    { good: aRoute({ host: "shop" }), bad: aRoute({ host: "shop-1" }), message: "the host name must match [a-z]+" },
  ],
  [
    "AllowedSidecars",
    { allowed: ["proxy"] },
    {
      good: anApp(),
      bad: anApp({ sidecars: [{ name: "miner", command: "mine", processTypes: ["web"] }] }),
      message: "the sidecars are proxy",
    },
  ],
  [
    "LifecyclesDenied",
    { types: ["docker"] },
    { good: anApp(), bad: anApp({ lifecycle: { type: "docker" } }), message: "no apps with the lifecycle docker" },
  ],
  [
    "EgressLimit",
    { denied: ["0.0.0.0/0"] },
    {
      good: aGroup("10.0.0.0/8"),
      bad: aGroup("10.0.0.1, 0.0.0.0/0"),
      message: "no rule for all protocols, and none to 0.0.0.0/0",
    },
  ],
])("%s with %j", (kind, parameters, { good, bad, message }) => {
  test("allows", () => {
    expect(messages(kind, parameters, good)).toEqual([]);
  });

  test("denies", () => {
    expect(messages(kind, parameters, bad)).toEqual([message]);
  });
});

test.each<[string, Record<string, unknown>, KubeObject, string]>([
  ["AllowedImages", { prefixes: [] }, aPackage("a/b:1"), "the image a/b:1 is refused, as any image"],
  [
    "AllowedBuildpacks",
    { names: [] },
    anApp({ lifecycle: { type: "buildpack", buildpacks: ["php"] } }),
    "no buildpack is allowed",
  ],
  [
    "AllowedSidecars",
    { allowed: [] },
    anApp({ sidecars: [{ name: "miner", command: "mine", processTypes: ["web"] }] }),
    "no sidecar is allowed",
  ],
  [
    "EgressLimit",
    { denied: [] },
    makeObject(SecurityGroup, "g", { spec: { name: "g", rules: [{ protocol: "all", destination: "10.0.0.0/8" }] } }),
    "no rule for all protocols",
  ],
])("%s with an empty list says a whole sentence", (kind, parameters, object, message) => {
  expect(messages(kind, parameters, object)).toEqual([message]);
});

test("SizeLimit lets a CPU pass that nobody set", () => {
  expect(messages("SizeLimit", { maxCPU: "100m" }, aProcess())).toEqual([]);
});
