// The manifest that is generated from an app.
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { App } from "../../crds/app/app.ts";
import type { Process } from "../../crds/process/process.ts";
import { toApplication, toYaml, type ManifestInput } from "./generate.ts";

const app = (spec: object = {}): App =>
  ({
    metadata: { name: "app" },
    spec: { name: "My App", lifecycle: { type: "buildpack", buildpacks: [] }, env: [], ...spec },
  }) as unknown as App;
const process = (type: string, spec: object = {}): Process =>
  ({
    metadata: { name: `app.${type}` },
    spec: { type, memoryMB: 256, diskMB: 512, logRateLimitBytesPerSecond: 1048576, ...spec },
  }) as unknown as Process;
const input = (more: Partial<ManifestInput> = {}): ManifestInput => ({
  app: app(),
  processes: [],
  sidecars: [],
  variables: {},
  routes: [],
  services: [],
  metadata: { labels: {}, annotations: {} },
  image: undefined,
  stack: "base",
  ...more,
});

const features = { ssh: true, revisions: true, "service-binding-k8s": false, "file-based-vcap-services": false };

test("empty keys are omitted, features are all there", () => {
  expect(toApplication(input())).toEqual({ name: "My App", lifecycle: "buildpack", stack: "base", features });
});

test("an image app has docker instead of buildpacks", () => {
  expect(toApplication(input({ app: app({ lifecycle: { type: "docker" } }), image: "x/y" }))).toEqual({
    name: "My App",
    lifecycle: "docker",
    docker: { image: "x/y" },
    features,
  });
});

test("processes and routes are sorted; sizes carry units", () => {
  const { processes, routes } = toApplication(
    input({
      processes: [
        process("worker", { instances: 3 }),
        process("web", { logRateLimitBytesPerSecond: -1, healthCheck: { type: "http", timeoutSeconds: 9 } }),
      ],
      routes: [
        { url: "b", protocol: "http2" },
        { url: "a", protocol: "http1" },
      ],
    }),
  );
  expect(routes).toEqual([
    { route: "a", protocol: "http1" },
    { route: "b", protocol: "http2" },
  ]);
  expect(processes).toEqual([
    {
      type: "web",
      instances: 1,
      memory: "256M",
      disk_quota: "512M",
      "log-rate-limit-per-second": -1,
      "health-check-type": "http",
      "health-check-http-endpoint": "/",
      "readiness-health-check-type": "process",
      timeout: 9,
    },
    {
      type: "worker",
      instances: 3,
      memory: "256M",
      disk_quota: "512M",
      "log-rate-limit-per-second": "1M",
      "health-check-type": "process",
      "readiness-health-check-type": "process",
    },
  ]);
});

test.each([
  [0, "0B"],
  [1, "1B"],
  [1024, "1K"],
  [1536, "1536B"],
  [3 * 1024 * 1024, "3M"],
])("a log rate of %i bytes is %s", (logRateLimitBytesPerSecond, text) => {
  expect(
    (toApplication(input({ processes: [process("web", { logRateLimitBytesPerSecond })] }))["processes"] as object[])[0],
  ).toMatchObject({ "log-rate-limit-per-second": text });
});

test("values that look like something else in YAML stay text", () => {
  const env = { A: "yes", B: "1", C: "null", D: "a: b", E: "multi\nline", F: "" };
  const text = toYaml(toApplication(input({ variables: env })));
  expect((parse(text) as { applications: { env: object }[] }).applications[0]?.env).toEqual(env);
  expect(text).not.toContain("&");
});

test("a document begins with its marker", () => {
  expect(toYaml({ name: "a" })).toBe("---\napplications:\n  - name: a\n");
});

test("sidecars have their memory as a size, and no key without a value", () => {
  const sidecars = [
    { name: "proxy", command: "envoy", processTypes: ["web", "worker"], memoryMB: 64 },
    { name: "agent", command: "run", processTypes: ["web"] },
  ];
  expect(toApplication(input({ sidecars }))["sidecars"]).toEqual([
    { name: "proxy", command: "envoy", process_types: ["web", "worker"], memory: "64M" },
    { name: "agent", command: "run", process_types: ["web"] },
  ]);
});
