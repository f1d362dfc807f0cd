// From a Build to its Staging and its result.
import { describe, expect, test } from "vitest";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import type { Staging } from "../../crds/staging/staging.ts";
import { aBuild, anApp, aPackage, makeObject } from "../../crds/testing/objects.ts";
import { tenancy } from "../shared/testing/fixtures.ts";
import {
  findBuildError,
  toImageArtifact,
  effectiveLifecycle,
  toStagingOutcome,
  planBuildpacks,
  planDroplet,
  planFinished,
  planStaging,
} from "./plan.ts";

const pack = (name: string, position: number, more: object = {}): ReturnType<typeof makeObject<typeof Buildpack>> =>
  makeObject(Buildpack, name, { spec: { name: `${name}_buildpack`, path: name, position, ...more } });
const known = [
  pack("static", 2),
  pack("node", 1),
  pack("off", 3, { enabled: false }),
  pack("cnb", 4, { lifecycle: "cnb" }),
];

describe("buildpacks of a builder image", () => {
  const node = pack("js", 1, { path: "cupola/nodejs", builder: "cnb" });
  const builder = makeObject(BackendClass, "cnb", {
    spec: { role: "builder" },
    status: { capabilities: { buildpacks: "cupola/nodejs" } },
  });
  const lifecycle = (...buildpacks: string[]) => ({ type: "buildpack" as const, buildpacks });
  const reference = { name: "js_buildpack", path: "cupola/nodejs" };

  test("are tried by its class alone", () => {
    expect(planBuildpacks(lifecycle(), [node], builder)).toEqual({ buildpacks: [reference], detect: true });
    const other = makeObject(BackendClass, "host", { spec: { role: "builder" } });
    expect(planBuildpacks(lifecycle(), [node], other)).toEqual({ buildpacks: [], detect: true });
    expect(planBuildpacks(lifecycle("js_buildpack"), [node], other)).toHaveProperty("code");
  });

  test("are found by the name that an admin gave, and by those of the image", () => {
    expect(planBuildpacks(lifecycle("js_buildpack"), [node], builder)).toEqual({
      buildpacks: [reference],
      detect: false,
    });
    expect(planBuildpacks(lifecycle("nodejs_buildpack"), [node], builder)).toEqual({
      buildpacks: [{ name: "nodejs_buildpack" }],
      detect: false,
    });
  });

  test("stand in for Cloud Foundry's own by its address", () => {
    const address = "https://github.com/cloudfoundry/nodejs-buildpack.git#v1.8.3";
    const plan = (known: Buildpack[], by: BackendClass): unknown => planBuildpacks(lifecycle(address), known, by);
    expect(plan([], builder)).toEqual({ buildpacks: [{ name: "nodejs_buildpack" }], detect: false });
    const other = makeObject(BackendClass, "host", { spec: { role: "builder" } });
    expect(plan([], other)).toEqual({ buildpacks: [{ name: address }], detect: false });
    expect(plan([pack("nodejs", 1)], other)).toMatchObject({ buildpacks: [{ name: "nodejs_buildpack" }] });
  });

  test.each(["js_buildpack", "cupola/nodejs", "nodejs_buildpack", "cupola/nodejs@1.0.0"])(
    "a disabled one is refused by the name %s",
    (name) => {
      const off = pack("js", 1, { path: "cupola/nodejs", builder: "cnb", enabled: false });
      expect(planBuildpacks(lifecycle(name), [off], builder)).toMatchObject({
        message: expect.stringContaining(`the buildpack ${name} is disabled`) as string,
      });
    },
  );
});

describe("buildpacks", () => {
  test("without names all enabled ones that fit are tried by position", () => {
    expect(planBuildpacks({ type: "buildpack", buildpacks: [] }, known)).toEqual({
      detect: true,
      buildpacks: [
        { name: "node_buildpack", path: "node" },
        { name: "static_buildpack", path: "static" },
      ],
    });
  });
  test("one that waits for its bits is not tried", () => {
    const empty = pack("empty", 1, { path: undefined });
    expect(planBuildpacks({ type: "buildpack", buildpacks: [] }, [...known, empty])).toEqual(
      planBuildpacks({ type: "buildpack", buildpacks: [] }, known),
    );
  });
  test("named ones build in their order; an address is the builder's business", () => {
    expect(
      planBuildpacks({ type: "buildpack", buildpacks: ["static_buildpack", "https://example.com/bp.git"] }, known),
    ).toEqual({
      detect: false,
      buildpacks: [{ name: "static_buildpack", path: "static" }, { name: "https://example.com/bp.git" }],
    });
  });
  test("a name of the builder's image is the builder's business", () => {
    const builder = { status: { capabilities: { buildpacks: "paketo-buildpacks/go" } } } as unknown as BackendClass;
    expect(planBuildpacks({ type: "buildpack", buildpacks: ["go_buildpack"] }, known, builder)).toEqual({
      detect: false,
      buildpacks: [{ name: "go_buildpack" }],
    });
    expect(planBuildpacks({ type: "buildpack", buildpacks: ["java"] }, known, builder)).toHaveProperty("code");
  });
  test("an uploaded one is named with its content; of one name, the one for the app's stack builds", () => {
    const content = { digest: `sha256:${"a".repeat(64)}`, size: 1 };
    const mine = [
      pack("mine", 1, { path: undefined, content }),
      pack("other", 2, { name: "mine_buildpack", stack: "s" }),
    ];
    expect(planBuildpacks({ type: "buildpack", buildpacks: ["mine_buildpack"] }, mine)).toMatchObject({
      buildpacks: [{ name: "mine_buildpack", content }],
    });
    expect(planBuildpacks({ type: "buildpack", stack: "s", buildpacks: ["mine_buildpack"] }, mine)).toMatchObject({
      buildpacks: [{ name: "mine_buildpack", path: "other" }],
    });
  });
  test("a disabled one ends the build that names it", () => {
    expect(planBuildpacks({ type: "buildpack", buildpacks: ["off_buildpack"] }, known)).toEqual({
      code: "StagingError",
      message: "the buildpack off_buildpack is disabled; cf update-buildpack off_buildpack --enable enables it",
    });
  });
  test("an unknown name ends the build", () => {
    expect(planBuildpacks({ type: "buildpack", buildpacks: ["none"] }, known)).toEqual({
      code: "StagingError",
      message: "there is no buildpack none; cf buildpacks lists them",
    });
  });
});

describe("lifecycle", () => {
  const docker = aPackage({ type: "docker", image: "x" });
  const on = (): boolean => true;
  test("the build's own wins over the app's; an image is an image", () => {
    const app = anApp({ lifecycle: { type: "buildpack", buildpacks: ["a"] } });
    expect(effectiveLifecycle(aBuild(), app, aPackage()).buildpacks).toEqual(["a"]);
    expect(
      effectiveLifecycle(aBuild({ lifecycle: { type: "cnb", buildpacks: ["b"] } }), app, aPackage()),
    ).toMatchObject({ type: "cnb", buildpacks: ["b"] });
    expect(effectiveLifecycle(aBuild(), app, docker).type).toBe("docker");
    expect(toImageArtifact(docker)).toEqual({ kind: "docker", image: "x", processTypes: { web: "" } });
  });
  test("a failed package is an obstacle", () => {
    expect(
      findBuildError(
        aPackage({}, { status: { state: "Failed", error: "no zip" } }),
        { type: "buildpack", buildpacks: [] },
        on,
      ),
    ).toEqual({ code: "StagingError", message: "package p1 failed: no zip" });
    expect(findBuildError(aPackage(), { type: "buildpack", buildpacks: [] }, on)).toBeUndefined();
  });
  test.each([
    ["docker", "diego_docker"],
    ["cnb", "diego_cnb"],
  ] as const)("%s wants its flag", (type, flag) => {
    const lifecycle = { type, buildpacks: [] };
    expect(findBuildError(docker, lifecycle, on)).toBeUndefined();
    expect(findBuildError(docker, lifecycle, (one) => one !== flag)).toEqual({
      code: "FeatureDisabled",
      message: `Feature Disabled: ${flag}`,
    });
    expect(findBuildError(docker, { type: "buildpack", buildpacks: [] }, () => false)).toBeUndefined();
  });
});

test("the Staging is whole, secrets by reference, the platform's variables last", () => {
  const pkg = aPackage({ content: { digest: `sha256:${"a".repeat(64)}`, size: 3 } });
  const secret = { name: "TOKEN", valueFrom: { secretKeyRef: { name: "s", key: "k" } } };
  const staging = planStaging({
    groupEnv: [
      { name: "TOKEN", value: "of the group" },
      { name: "REGION", value: "eu" },
      { name: "LANG", value: "of the group" },
    ],
    build: aBuild({ memoryMB: 512 }),
    buildGUID: "build-guid",
    app: anApp({ name: "My Shop" }),
    appGUID: "app-guid",
    pkg,
    lifecycle: { type: "buildpack", buildpacks: [] },
    buildpacks: [],
    detect: true,
    tenancy,
    class: "host",
    services: [],
    env: [secret, { name: "VCAP_SERVICES", value: "mine" }, { name: "CF_STACK", value: "mine" }],
    defaultStack: "host",
    apiURL: "http://api",
    uris: [],
  }) as unknown as Staging;
  expect(staging.metadata).toMatchObject({
    name: "b1",
    labels: { "cupola.dev/source-type": "STG", "cupola.dev/app-guid": "app-guid" },
  });
  expect(staging.spec).toMatchObject({
    class: "host",
    app: { guid: "app-guid", name: "My Shop" },
    buildGUID: "build-guid",
    lifecycleType: "buildpack",
    package: { type: "bits", content: pkg.spec.content },
    stack: "host",
    memoryMB: 512,
    timeoutSeconds: 900,
  });
  expect(staging.spec.env[0]).toEqual(secret);
  expect(staging.spec.env.map((variable) => variable.name)).toEqual([
    "TOKEN",
    "REGION",
    "CF_STACK",
    "LANG",
    "VCAP_APPLICATION",
    "MEMORY_LIMIT",
    "VCAP_SERVICES",
  ]);
  expect(staging.spec.env.slice(1, 4).map(({ value }) => value)).toEqual(["eu", "host", "en_US.UTF-8"]);
});

describe("the end", () => {
  const ended = (status: object, spec: object = {}): Staging => ({ spec, status }) as unknown as Staging;
  test.each<[string, Staging | undefined, unknown]>([
    ["not begun", undefined, undefined],
    ["running", ended({ state: "Running" }), undefined],
    [
      "failed",
      ended({ state: "Failed", error: { code: "NoAppDetectedError", message: "m" } }),
      { code: "NoAppDetectedError", message: "m" },
    ],
    [
      "failed silently",
      ended({ state: "Failed" }),
      { code: "StagingError", message: "staging failed without saying why" },
    ],
    [
      "without a droplet",
      ended({ state: "Succeeded" }),
      { code: "StagingError", message: "staging succeeded without a droplet" },
    ],
    [
      "succeeded",
      ended({ state: "Succeeded", droplet: { kind: "cnb", image: "i" } }),
      { artifact: { kind: "cnb", image: "i" } },
    ],
    [
      "on the app's stack, which a builder image calls something else",
      ended({ state: "Succeeded", droplet: { kind: "cnb", image: "i", stack: "io.example" } }, { stack: "cnb" }),
      { artifact: { kind: "cnb", image: "i", stack: "cnb" } },
    ],
  ])("%s", (_what, staging, expected) => expect(toStagingOutcome(staging)).toEqual(expected));

  test("the droplet has the build's name and is owned by the app", () => {
    const droplet = planDroplet(aBuild(), anApp(), "app-guid", {
      lifecycleType: "docker",
      artifact: { kind: "docker", image: "x", processTypes: { web: "" } },
    });
    expect(droplet).toMatchObject({
      metadata: { name: "b1", namespace: "acme-dev", ownerReferences: [{ kind: "App", uid: "uid-shop" }] },
      spec: { appRef: { name: "shop" }, buildRef: { name: "b1" }, packageRef: { name: "p1" }, image: "x" },
    });
  });
  test("a failed build keeps its condition", () => {
    const error = { code: "StagingError", message: "m" };
    expect(planFinished(aBuild({}, { status: { state: "Failed", error } }))).toMatchObject({
      status: { state: "Failed", error },
      ready: { status: "False", reason: "StagingFailed" },
    });
  });

  test("only a build that succeeded lets its Staging go", () => {
    const error = { code: "StagingError", message: "m" };
    expect(planFinished(aBuild({}, { status: { state: "Staged" } }))).toEqual({ children: [] });
    expect(planFinished(aBuild({}, { status: { state: "Failed", error } }))).not.toHaveProperty("children");
  });
});

test("a cleared cache is another cache: by app, and for all apps of a builder", () => {
  const keyOf = (app: object, platformCache?: string): string | undefined => {
    const staging = planStaging({
      build: aBuild(),
      buildGUID: "build-guid",
      app: anApp(app),
      appGUID: "app-guid",
      pkg: aPackage(),
      lifecycle: { type: "buildpack", buildpacks: [] },
      buildpacks: [],
      detect: true,
      tenancy,
      class: "host",
      platformCache,
      groupEnv: [],
      env: [],
      services: [],
      defaultStack: "host",
      apiURL: "http://api",
      uris: [],
    });
    return (staging as unknown as Staging).spec.cacheKey;
  };
  expect(keyOf({})).toBeUndefined();
  const keys = [
    keyOf({ buildCache: "1" }),
    keyOf({ buildCache: "2" }),
    keyOf({ buildCache: "1" }, "x"),
    keyOf({}, "x"),
  ];
  expect(new Set(keys).size).toBe(4);
  expect(keyOf({ buildCache: "1" })).toMatch(/^[0-9a-f]{16}$/);
});
