// The shipped templates by `cup policy test`: each with an input that it allows and one that it refuses.
import { describe, expect, test } from "vitest";
import { constraint, judge, manifest, object } from "./testing/judge-files.ts";

/** Each shipped template: parameters, an input that it allows, and one that it refuses. */
describe.each<[string, object, { good: object; bad: object; kind: string }]>([
  [
    "RequiredLabels",
    { labels: [{ key: "owner" }] },
    { good: manifest({ metadata: { labels: { owner: "a" } } }), bad: manifest({}), kind: "App" },
  ],
  [
    "AllowedImages",
    { prefixes: ["ghcr.io/acme/"] },
    {
      good: manifest({ docker: { image: "ghcr.io/acme/shop:1" } }),
      bad: manifest({ docker: { image: "docker.io/shop" } }),
      kind: "Package",
    },
  ],
  [
    "AllowedBuildpacks",
    { names: ["go"], allowDetection: false },
    { good: manifest({ buildpack: "go" }), bad: manifest({}), kind: "App" },
  ],
  ["SizeLimit", { maxMemoryMB: 512 }, { good: manifest({ memory: "512M" }), bad: manifest({}), kind: "Process" }],
  [
    "MinimumInstances",
    { min: 2 },
    { good: manifest({ instances: 2 }), bad: manifest({ instances: 1 }), kind: "Process" },
  ],
  [
    "DomainsDenied",
    { domains: ["old.example"] },
    { good: manifest({}), bad: manifest({ routes: [{ route: "shop.old.example/x" }] }), kind: "Route" },
  ],
  [
    "HostPattern",
    { pattern: "shop(-[a-z]+)?" },
    { good: manifest({}), bad: manifest({ routes: [{ route: "other.apps.example" }] }), kind: "Route" },
  ],
  [
    "AllowedSidecars",
    { allowed: ["proxy"] },
    {
      good: manifest({ sidecars: [{ name: "proxy", command: "x", process_types: ["web"] }] }),
      bad: manifest({ sidecars: [{ name: "miner", command: "x", process_types: ["web"] }] }),
      kind: "App",
    },
  ],
  [
    "LifecyclesDenied",
    { types: ["docker", "cnb"] },
    { good: manifest({}), bad: manifest({ lifecycle: "cnb", buildpacks: ["x/go"] }), kind: "App" },
  ],
  [
    "EgressLimit",
    { denied: ["0.0.0.0/0"] },
    {
      good: object("SecurityGroup", {
        name: "g",
        rules: [{ protocol: "tcp", destination: "10.0.0.0/8", ports: "80" }],
      }),
      bad: object("SecurityGroup", { name: "g", rules: [{ protocol: "tcp", destination: "0.0.0.0/0", ports: "80" }] }),
      kind: "SecurityGroup",
    },
  ],
])("the shipped template %s", (template, parameters, { good, bad, kind }) => {
  test("allows", async () => {
    expect(await judge([constraint(template, { parameters })], [good])).toMatchObject({
      exitCode: 0,
      json: { allowed: true, violations: [], skipped: [], unknown: [] },
    });
  });

  test("refuses", async () => {
    const { exitCode, json } = await judge([constraint(template, { parameters })], [bad]);
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({ allowed: false, violations: [{ template, constraint: "one", object: { kind } }] });
  });
});
