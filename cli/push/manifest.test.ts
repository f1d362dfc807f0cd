// A push, from manifest, variables and command line.
import { describe, expect, test } from "vitest";
import { overlay, parseManifest, toYaml } from "./manifest.ts";
import { renderApp } from "./render.ts";

describe("manifests", () => {
  test.each([
    [
      "a whole value keeps the variable's type",
      "applications: [{ name: a, instances: ((n)) }]",
      { n: 3 },
      [{ name: "a", instances: 3 }],
    ],
    [
      "a part is text",
      "applications: [{ name: a-((n)), memory: ((n))M }]",
      { n: 64 },
      [{ name: "a-64", memory: "64M" }],
    ],
    [
      "merge keys",
      "defaults: &d { memory: 64M, env: { A: b } }\napplications: [{ name: a, <<: *d }, { name: b, <<: *d, memory: 1G }]",
      {},
      [
        { name: "a", memory: "64M", env: { A: "b" } },
        { name: "b", memory: "1G", env: { A: "b" } },
      ],
    ],
    ["keys too", "applications: [{ name: a, env: { ((k)): v } }]", { k: "KEY" }, [{ name: "a", env: { KEY: "v" } }]],
  ])("%s", (_what, text, variables, expected) => {
    expect(parseManifest(text, variables, "manifest.yml")).toEqual(expected);
  });

  test.each([
    ["a variable without a value", "applications: [{ name: ((who)) }]", "((who)) has no value"],
    ["no applications", "applications: []", "manifest.yml: applications"],
    [
      "every fault, variables included,",
      "applications: [{ name: a, memroy: 1G, instances: two, env: { B: ((b)) } }]",
      /^manifest.yml has 3 faults:\n {2}the variable \(\(b\)\) has no value: --var b=VALUE\n {2}a: there is no key memroy; did you mean memory\?\n {2}a: instances must be/,
    ],
    ["no YAML", "applications: [", "manifest.yml is no valid YAML"],
    [
      "a YAML bomb",
      `a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c]\napplications: []`,
      "manifest.yml",
    ],
    ["an alias in its own anchor", "applications: &a [{ name: x, env: *a }]", /manifest.yml is no valid YAML/],
  ])("%s is told", (_what, text, message) => {
    expect(() => parseManifest(text, {}, "manifest.yml")).toThrow(message);
  });

  test("the command line wins, and without routes a default route is requested", () => {
    const app = { name: "a", memory: "1G", env: { A: "b" } };
    expect(overlay(app, { memory: "64M", instances: 2 })).toEqual({
      name: "a",
      memory: "64M",
      instances: 2,
      env: { A: "b" },
      "default-route": true,
    });
    expect(overlay(app, { route: false })).toEqual({ ...app, "no-route": true });
    expect(overlay({ ...app, routes: [{ route: "x.example.org" }] }, {})).not.toHaveProperty("default-route");
    expect(overlay({ ...app, "no-route": null }, {})).toHaveProperty("default-route", true);
  });

  test("the local path stays here", () => {
    expect(toYaml({ name: "a", path: "/home/me/a" })).toBe("applications:\n  - name: a\n");
  });
});

describe("render", () => {
  const places = { domains: ["example.org", "apps.example.org"], defaultDomain: "apps.example.org" };

  test("a plain app: App, web Process, Route", () => {
    expect(renderApp({ name: "shop" }, places)).toEqual([
      { apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata: { name: "shop" }, spec: { state: "Started" } },
      {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Process",
        metadata: { name: "shop.web" },
        spec: { appRef: { name: "shop" }, type: "web" },
      },
      {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Route",
        metadata: { name: expect.stringMatching(/^shop-apps-example-org-/) as string },
        spec: { host: "shop", domainRef: { name: "apps.example.org" }, destinations: [{ app: "shop" }] },
      },
    ]);
  });

  test("a name that is no object name stays the app's name", () => {
    const [app] = renderApp({ name: "My Shop" }, places);
    expect(app).toMatchObject({
      metadata: { name: expect.stringMatching(/^my-shop-[a-z0-9]{5}$/) as string },
      spec: { name: "My Shop" },
    });
  });

  test("sizes, checks and more processes", () => {
    const objects = renderApp(
      {
        name: "a",
        memory: "64M",
        instances: 3,
        "health-check-type": "http",
        timeout: 90,
        processes: [{ type: "worker", instances: 1, "health-check-type": "none" }],
        "no-route": true,
      },
      places,
    );
    expect(objects.map(({ spec }) => spec).slice(1)).toEqual([
      {
        appRef: { name: "a" },
        type: "web",
        instances: 3,
        memoryMB: 64,
        healthCheck: { type: "http", timeoutSeconds: 90 },
      },
      { appRef: { name: "a" }, type: "worker", instances: 1, healthCheck: { type: "process" } },
    ]);
  });

  test.each([
    ["www.example.org/path", { host: "www", path: "/path", domainRef: { name: "example.org" } }],
    ["x.apps.example.org", { host: "x", domainRef: { name: "apps.example.org" } }],
    ["example.org", { domainRef: { name: "example.org" } }],
    ["MyApp.Apps.Example.org", { host: "MyApp", domainRef: { name: "apps.example.org" } }],
  ])("route %s is split by the longest domain", (route, spec) => {
    expect(renderApp({ name: "a", routes: [{ route }] }, places).at(-1)?.spec).toMatchObject(spec);
  });

  test("a slash alone is no path", () => {
    expect(renderApp({ name: "a", routes: [{ route: "www.example.org/" }] }, places).at(-1)?.spec).not.toHaveProperty(
      "path",
    );
  });
});

test("lines without a value and quoted numbers render as CF means them", () => {
  const worker = { type: "worker", memory: "", instances: "3", "health-check-http-endpoint": null };
  const set = { name: "shop", instances: "2", timeout: "60", processes: [{ type: "worker", instances: 3 }] };
  const unset = { buildpacks: null, command: null, env: null, memory: null, timeout: "60", stack: null };
  const places = { domains: [], defaultDomain: undefined };
  expect(renderApp({ ...set, ...unset, processes: [worker] }, places)).toEqual(
    renderApp({ ...set, instances: 2, timeout: 60 }, places),
  );
});
