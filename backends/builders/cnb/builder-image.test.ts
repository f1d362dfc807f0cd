// Settings of the class, and what a builder image says of itself.
import { describe, expect, test } from "vitest";
import { StagingFailure } from "../staging-failure.ts";
import { toBuilderImage } from "./builder-image.ts";
import { parseParameters } from "./parameters.ts";
import { ImageNotFound, RegistryError } from "../../../blobs/registry/registry-error.ts";
import { digest } from "./testing/fixtures.ts";
import { createImageInspector, presentImageError } from "../registry-images.ts";

const given = {
  builderImage: "registry.example.com:5000/team/builder:1",
  platformImage: "cupola@sha256:" + "0".repeat(64),
};

describe("parameters of the class", () => {
  test("the images are enough", () =>
    expect(parseParameters(given)).toEqual({ parameters: { ...given, runImage: undefined, concurrency: 10 } }));

  test.each<[string, Record<string, string> | undefined, string]>([
    ["none", undefined, "builderImage is missing: name the builder image: lifecycle and buildpacks"],
    ["an empty image", { ...given, platformImage: "" }, "platformImage is missing"],
    [
      "no image",
      { ...given, runImage: "https://example.com/x" },
      'runImage: "https://example.com/x" is no name of an image',
    ],
    ["a concurrency of 0", { ...given, concurrency: "0" }, 'concurrency is a whole number from 1 to 1000, not "0"'],
    ["a wrong name", { ...given, builderimage: "x" }, "builderimage is no parameter of it; there are builderImage"],
  ])("%s is a mistake", (_what, parameters, problem) => {
    const parsed = parseParameters(parameters);
    expect("problems" in parsed && parsed.problems.join("\n")).toContain(problem);
  });
});

const config = (labels: Record<string, unknown>, env = ["PATH=/bin", "CNB_USER_ID=1001", "CNB_GROUP_ID=1000"]) => ({
  env,
  labels: Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  ),
});
const labels = {
  "io.buildpacks.builder.metadata": { stack: { runImage: { image: "run:1" } }, lifecycle: { version: "0.21.0" } },
  "io.buildpacks.lifecycle.apis": { platform: { deprecated: [], supported: ["0.7", "0.12", "0.13"] } },
  "io.buildpacks.buildpack.layers": { "cupola/nodejs": { "0.1.0": { api: "0.10" } } },
  "io.buildpacks.buildpack.order": [{ group: [{ id: "cupola/nodejs", version: "0.1.0", optional: true }] }],
  "io.buildpacks.stack.id": "cupola",
};

describe("a builder image", () => {
  test("says who builds, with what, for which base", () =>
    expect(toBuilderImage(config(labels))).toEqual({
      uid: 1001,
      gid: 1000,
      platformAPI: "0.13",
      runImage: "run:1",
      stack: "cupola",
      buildpacks: new Map([["cupola/nodejs", ["0.1.0"]]]),
      order: [[{ id: "cupola/nodejs", version: "0.1.0", optional: true }]],
    }));

  test("newer builders name run images in images, and APIs in their metadata", () => {
    const metadata = {
      images: [{ image: "run:2" }],
      lifecycle: { apis: { platform: { supported: ["0.14", "0.15"] } } },
    };
    expect(toBuilderImage(config({ "io.buildpacks.builder.metadata": metadata }))).toMatchObject({
      platformAPI: "0.14",
      runImage: "run:2",
    });
  });

  test.each<[string, ReturnType<typeof config>, string]>([
    ["any other image", config({}), "so it is no Cloud Native Buildpacks builder"],
    [
      "an old lifecycle",
      config({ ...labels, "io.buildpacks.lifecycle.apis": { platform: { supported: ["0.7"] } } }),
      "supports Platform API 0.7",
    ],
    ["root as user", config(labels, ["CNB_USER_ID=0", "CNB_GROUP_ID=1"]), 'CNB_USER_ID to "0"'],
    ["a broken label", config({ ...labels, "io.buildpacks.builder.metadata": "{" }), "is not in the format"],
  ])("%s is refused", (_what, image, message) => {
    expect(() => toBuilderImage(image)).toThrow(StagingFailure);
    expect(() => toBuilderImage(image)).toThrow(message);
  });
});

describe("an image of a registry", () => {
  test("is known by its digest, and by what its config says", async () => {
    const asked: unknown[] = [];
    const client = {
      resolve: () => Promise.resolve(digest(1)),
      getConfig: (image: unknown) => {
        asked.push(image);
        const config = { Env: ["A=1"], Labels: { b: "2" } };
        const rootfs = { type: "layers", diff_ids: ["sha256:3", "sha256:4"] };
        return Promise.resolve({
          digest: "sha256:2",
          config: { os: "linux", architecture: "amd64", config, rootfs, history: [{}, { empty_layer: true }] },
        });
      },
    };
    const inspect = createImageInspector(client);
    const inspected = await inspect("r.example.com/team/builder:1");
    expect(inspected).toEqual({
      reference: `r.example.com/team/builder@${digest(1)}`,
      config: {
        env: ["A=1"],
        labels: { b: "2" },
        layers: ["sha256:3", "sha256:4"],
        layersInHistory: 1,
        platform: "linux/amd64",
      },
    });
    // A tag that moves in between changes nothing.
    expect(asked).toEqual([{ host: "r.example.com", repository: "team/builder", digest: digest(1) }]);
    // An image named by digest is read once.
    expect(await inspect("r.example.com/team/builder:1")).toBe(inspected);
    expect(await inspect(`r.example.com/team/builder@${digest(1)}`)).toBe(inspected);
    expect(asked).toHaveLength(1);
  });

  test.each([
    [new ImageNotFound("r/x"), true],
    [new RegistryError("no", { status: 403 }), true],
    [new RegistryError("away"), false],
    [new RegistryError("busy", { status: 503 }), false],
  ])("%s", (error, isFinal) => expect(presentImageError(error, "what") instanceof StagingFailure).toBe(isFinal));
});
