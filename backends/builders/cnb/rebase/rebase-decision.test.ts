// When a build is a rebase, what that rebase says to the lifecycle, and its Pod.
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { toBuildImages } from "../../build-images.ts";
import { ImageNotFound, RegistryError } from "../../../../blobs/registry/registry-error.ts";
import type { ImageConfig } from "../../registry-images.ts";
import { findRebase } from "./find-rebase.ts";
import { builder, digest, staging } from "../testing/fixtures.ts";
import type { PlacedEntry } from "../placed-buildpacks.ts";
import { planRebasePod, type RebasePod } from "./plan-rebase-pod.ts";
import { digestInputs, isMadeOf, planRebase, toProjectMetadata } from "./rebase-decision.ts";

const SYSTEM = { "io.buildpacks.stack.id": "cupola", "io.buildpacks.base.distro.name": "debian" };
const inputs = digest(9);

function appImage(
  change: { labels?: Record<string, string>; layers?: string[]; layersInHistory?: number } = {},
): ImageConfig {
  const run = { topLayer: "run-b", reference: "r/run@sha256:1", image: "r/run:1", mirrors: ["mirror/run:1"] };
  return {
    env: [],
    labels: {
      ...SYSTEM,
      "io.buildpacks.lifecycle.metadata": JSON.stringify({ runImage: run, stack: { runImage: { image: "r/run:0" } } }),
      "io.buildpacks.project.metadata": JSON.stringify(parse(toProjectMetadata(inputs))),
      ...change.labels,
    },
    layers: change.layers ?? ["run-a", "run-b", "app-1", "app-2"],
    layersInHistory: change.layersInHistory ?? change.layers?.length ?? 4,
    platform: "linux/amd64",
  };
}

const runImage = (change: Partial<ImageConfig> = {}): ImageConfig => ({
  env: [],
  labels: SYSTEM,
  layers: ["run-a2", "run-b2"],
  layersInHistory: 2,
  platform: "linux/amd64",
  ...change,
});

const omit = (labels: Readonly<Record<string, string>>, ...names: string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));

const last = (config = appImage()) => ({ reference: `r/app@${digest(5)}`, config });
const previousImage = `r/app@${digest(5)}`;

describe("with the same inputs", () => {
  test.each<[string, ReturnType<typeof planRebase>, ImageConfig, { name: string; config: ImageConfig }]>([
    [
      "another run image behind the same tag: a rebase",
      { previousImage, force: false },
      appImage(),
      { name: "r/run:1", config: runImage() },
    ],
    [
      "a mirror of it: a rebase",
      { previousImage, force: false },
      appImage(),
      { name: "mirror/run:1", config: runImage() },
    ],
    [
      "the name that the stack knows: a rebase",
      { previousImage, force: false },
      appImage(),
      { name: "r/run:0", config: runImage() },
    ],
    [
      "a run image of another name: a rebase that the lifecycle has to be told twice",
      { previousImage, force: true },
      appImage(),
      { name: "r/run:2", config: runImage() },
    ],
    [
      "only a lower layer of the run image changed: a rebase",
      { previousImage, force: false },
      appImage(),
      { name: "r/run:1", config: runImage({ layers: ["run-a2", "run-b"] }) },
    ],
    [
      "a run image with fewer layers of the same: a rebase",
      { previousImage, force: false },
      appImage(),
      { name: "r/run:1", config: runImage({ layers: ["run-a"], layersInHistory: 1 }) },
    ],
    [
      "the same run image: a build, which is what a restage asks for",
      undefined,
      appImage(),
      { name: "r/run:1", config: runImage({ layers: ["run-a", "run-b"] }) },
    ],
    [
      "a run image of another stack: a build",
      undefined,
      appImage(),
      { name: "r/run:1", config: runImage({ labels: { ...SYSTEM, "io.buildpacks.stack.id": "other" } }) },
    ],
    [
      "a run image of another distribution: a build",
      undefined,
      appImage(),
      { name: "r/run:1", config: runImage({ labels: { ...SYSTEM, "io.buildpacks.base.distro.version": "13" } }) },
    ],
    [
      "images that name neither stack nor distribution: a build",
      undefined,
      { ...appImage(), labels: omit(appImage().labels, ...Object.keys(SYSTEM)) },
      { name: "r/run:1", config: runImage({ labels: {} }) },
    ],
    [
      "images that name the distribution and no stack: a rebase",
      { previousImage, force: false },
      { ...appImage(), labels: omit(appImage().labels, "io.buildpacks.stack.id") },
      { name: "r/run:1", config: runImage({ labels: omit(SYSTEM, "io.buildpacks.stack.id") }) },
    ],
    [
      "a run image for another processor: a build",
      undefined,
      appImage(),
      { name: "r/run:1", config: runImage({ platform: "linux/arm64" }) },
    ],
    [
      "a run image whose history leaves layers out: a build",
      undefined,
      appImage(),
      { name: "r/run:1", config: runImage({ layersInHistory: 0 }) },
    ],
    [
      "an image whose history leaves layers out: a build",
      undefined,
      appImage({ layersInHistory: 3 }),
      { name: "r/run:1", config: runImage() },
    ],
    [
      "an image that says it cannot be rebased: a build",
      undefined,
      appImage({ labels: { "io.buildpacks.rebasable": "false" } }),
      { name: "r/run:1", config: runImage() },
    ],
    [
      "an image whose run image ends nowhere: a build",
      undefined,
      appImage({ layers: ["x", "app-1"] }),
      { name: "r/run:1", config: runImage() },
    ],
    [
      "an image without the lifecycle's label: a build",
      undefined,
      appImage({ labels: { "io.buildpacks.lifecycle.metadata": "{" } }),
      { name: "r/run:1", config: runImage() },
    ],
  ])("%s", (_what, expected, config, run) => expect(planRebase(last(config), run)).toEqual(expected));
});

describe("the inputs of a build", () => {
  const { spec } = staging();
  const vcap = (version: string, name = "shop") => ({
    name: "VCAP_APPLICATION",
    value: JSON.stringify({ name, version, application_version: version }),
  });
  const base = {
    spec: { ...spec, env: [...spec.env, vcap("1")] },
    content: digest(1),
    builderImage: `r/builder@${digest(2)}`,
    order: undefined,
  };
  const withEnv = (...env: object[]) => ({ ...base, spec: { ...spec, env: env as typeof spec.env } });

  test("are the same where only the version differs that each build has", () =>
    expect(digestInputs(withEnv(...spec.env, vcap("2")))).toBe(digestInputs(base)));

  test.each<[string, typeof base | (Omit<typeof base, "order"> & { order: string })]>([
    ["source", { ...base, content: digest(3) }],
    ["builder image", { ...base, builderImage: `r/builder@${digest(3)}` }],
    ["order of buildpacks", { ...base, order: "[[order]]" }],
    ["cleared cache", { ...base, spec: { ...base.spec, cacheKey: "1" } }],
    ["lifecycle", { ...base, spec: { ...base.spec, lifecycleType: "cnb" } }],
    ["stack", { ...base, spec: { ...base.spec, stack: "other" } }],
    ["name of the app", withEnv(...spec.env, vcap("1", "other"))],
    ["value of a variable", withEnv({ name: "PRICE", value: "6" }, ...spec.env.slice(1), vcap("1"))],
    [
      "Secret of a variable, whose name is a digest of the values",
      withEnv(
        ...spec.env.slice(0, 1),
        { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env-2", key: "PASSWORD" } } },
        vcap("1"),
      ),
    ],
    ["variable more", withEnv(...base.spec.env, { name: "MORE", value: "" })],
  ])("differ with another %s", (_what, other) => expect(digestInputs(other)).not.toBe(digestInputs(base)));

  test.each([
    ["{", "{{"],
    ["", "{}"],
    ["5", "6"],
    ["null", "{}"],
    ["[1]", '{"0":1}'],
  ])("differ with a VCAP_APPLICATION of %s and of %s, though one is no JSON object", (value, other) => {
    const digestOf = (text: string) => digestInputs(withEnv({ name: "VCAP_APPLICATION", value: text }));
    expect(digestOf(value)).not.toBe(digestOf(other));
  });

  test("are read from the image that the exporter labelled", () => {
    expect(isMadeOf(appImage(), inputs)).toBe(true);
    expect(isMadeOf(appImage(), digest(8))).toBe(false);
    for (const label of ["", "{}", '{"source":{"type":"git","version":{"commit":"1"}}}'])
      expect(isMadeOf(appImage({ labels: { "io.buildpacks.project.metadata": label } }), inputs), label).toBe(false);
  });
});

describe("what the registry says", () => {
  const names = { latest: "r/app:latest", inputs, runImage: "r/run:1", order: undefined };
  const registry = (images: Record<string, ImageConfig | Error>) => ({
    inspect: (image: string) => {
      const found = images[image] ?? new ImageNotFound(image);
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(last(found));
    },
  });

  test.each<[string, ReturnType<typeof planRebase>, Record<string, ImageConfig | Error>]>([
    [
      "both images are there: a rebase",
      { previousImage, force: false },
      { "r/app:latest": appImage(), "r/run:1": runImage() },
    ],
    ["the app's first build", undefined, { "r/run:1": runImage() }],
    [
      "a registry that refuses unknown repositories",
      undefined,
      { "r/app:latest": new RegistryError("", { status: 403 }) },
    ],
    ["other inputs", undefined, { "r/app:latest": appImage({ labels: { "io.buildpacks.project.metadata": "" } }) }],
    ["no run image: the build says so", undefined, { "r/app:latest": appImage() }],
  ])("%s", async (_what, expected, images) => expect(await findRebase(registry(images), names)).toEqual(expected));

  test.each<[string, ReturnType<typeof planRebase>, PlacedEntry]>([
    [
      "by its tag, behind which may be another one now: a build",
      undefined,
      { image: "r/bp:1", name: "docker://r/bp:1" },
    ],
    [
      "by its digest: a rebase",
      { previousImage, force: false },
      { image: `r/bp:1@${digest(6)}`, name: `docker://r/bp:1@${digest(6)}` },
    ],
    ["by what was uploaded: a rebase", { previousImage, force: false }, { content: digest(6), name: "rust_buildpack" }],
  ])("a buildpack that is named %s", async (_how, expected, entry) => {
    const order = [[{ id: "cupola/nodejs", version: "0.10.0" }, entry]];
    const images = { "r/app:latest": appImage(), "r/run:1": runImage() };
    expect(await findRebase(registry(images), { ...names, order })).toEqual(expected);
  });

  test("a registry that is away is asked again", () =>
    expect(findRebase(registry({ "r/app:latest": new RegistryError("away") }), names)).rejects.toThrow("away"));
});

describe("the Pod of a rebase", () => {
  const pod: RebasePod = {
    staging: staging(),
    builder,
    builderImage: `registry.example.com/builder@${digest(2)}`,
    platformImage: "registry.example.com/cupola:1",
    runImage: "registry.example.com/run:2",
    images: toBuildImages("registry.example.com/cf", staging().spec),
    insecureHosts: [],
    hasCredentials: true,
    secondsLeft: 900,
    rebase: { previousImage, force: true },
  };

  test("with credentials", async () =>
    await expect(stringify(planRebasePod(pod), { lineWidth: 0, aliasDuplicateObjects: false })).toMatchFileSnapshot(
      "rebase-pod.golden.yaml",
    ));

  test("without credentials, onto a run image that the app's image knows", () => {
    const text = JSON.stringify(
      planRebasePod({ ...pod, hasCredentials: false, rebase: { previousImage, force: false } }),
    );
    for (const part of ["-force", "secretKeyRef", "imagePullSecrets"]) expect(text).not.toContain(part);
  });
});
