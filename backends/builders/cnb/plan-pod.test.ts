// The objects of one build, field by field, and the rules that keep credentials away from what an app brings.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { toBuildImages } from "../build-images.ts";
import { toPodName } from "./build-paths.ts";
import { builder, digest, guid, staging } from "./testing/fixtures.ts";
import { PHASES, planPod, runsForeignCode, type BuildPod } from "./plan-pod.ts";
import { planEnvSecret, planRegistrySecret, toLifecycleAuth } from "./plan-secrets.ts";

function build(change: Partial<BuildPod> = {}): BuildPod {
  return {
    staging: staging(),
    builder,
    builderImage: `registry.example.com/builder@${digest(2)}`,
    platformImage: "registry.example.com/cupola:1",
    runImage: "registry.example.com/run:1",
    images: toBuildImages("registry.example.com/cf", staging().spec),
    content: digest(1),
    registryPrefix: "registry.example.com/cf",
    insecureHosts: [],
    hasCredentials: true,
    order: "chosen",
    secondsLeft: 900,
    ...change,
  };
}

interface Container {
  name: string;
  args: string[];
  env: { name: string; value?: string; valueFrom?: unknown }[];
  volumeMounts: { name: string; readOnly?: boolean }[];
  securityContext: object;
}
interface PodSpec {
  initContainers: Container[];
  containers: Container[];
  volumes: { name: string; secret?: { secretName: string; items: { key: string; path: string }[] } }[];
  imagePullSecrets?: unknown;
}
const specOf = (change: Partial<BuildPod> = {}): PodSpec => planPod(build(change))["spec"] as PodSpec;
const containersOf = (spec: PodSpec): Container[] => [...spec.initContainers, ...spec.containers];

describe("the Pod of a build", () => {
  test("with credentials and chosen buildpacks", async () =>
    await expect(stringify(planPod(build()), { lineWidth: 0, aliasDuplicateObjects: false })).toMatchFileSnapshot(
      "build-pod.golden.yaml",
    ));

  test("a registry without credentials needs no Secret for them; one without TLS is named", () => {
    const spec = specOf({ hasCredentials: false, order: "image", insecureHosts: ["10.0.0.1:5000"] });
    expect(spec.volumes.map(({ name }) => name)).toEqual(["workspace", "layers", "analysis", "platform", "inputs"]);
    expect(spec.imagePullSecrets).toBeUndefined();
    const [fetch, analyze] = containersOf(spec);
    expect(fetch?.args).toContain("--insecure-registry=10.0.0.1:5000");
    expect(analyze?.env).toContainEqual({ name: "CNB_INSECURE_REGISTRIES", value: "10.0.0.1:5000" });
  });
});

describe("buildpacks that are not in the builder image", () => {
  const [fetch, , detect, , build] = containersOf(specOf({ order: "brought" }));
  const mountsOf = (container?: Container): unknown[] =>
    container?.volumeMounts.filter(({ name }) => name === "buildpacks" || name === "order") ?? [];

  test("are put beside its own by the first container", () => {
    expect(fetch?.args).toEqual(
      expect.arrayContaining(["--buildpacks=/cupola/order/buildpacks.json", "--buildpacks-to=/cupola/buildpacks"]),
    );
    expect(mountsOf(fetch)).toEqual([
      { name: "order", mountPath: "/cupola/order", readOnly: true },
      { name: "buildpacks", mountPath: "/cupola/buildpacks" },
    ]);
  });

  test("are read by detect and build, which cannot change them", () => {
    const mounts = [{ name: "buildpacks", mountPath: "/cupola/buildpacks", readOnly: true }];
    expect(detect?.args.slice(1)).toEqual(["-order=/cupola/buildpacks/order.toml", "-buildpacks=/cupola/buildpacks"]);
    expect(build?.args.slice(1)).toEqual(["-buildpacks=/cupola/buildpacks"]);
    expect([mountsOf(detect), mountsOf(build)]).toEqual([mounts, mounts]);
  });
});

describe.each<BuildPod["order"]>(["chosen", "brought"])(
  "what runs code of an app or a buildpack, order %s",
  (order) => {
    const spec = specOf({ order });
    const registrySecret = `${toPodName(staging())}-registry`;
    const secretVolumes = spec.volumes
      .filter(({ secret }) => secret?.secretName === registrySecret)
      .map(({ name }) => name);

    test("is detect and build", () => expect(PHASES.filter(runsForeignCode)).toEqual(["detect", "build"]));

    test.each(["detect", "build"])(
      "%s has no credentials, and cannot change what a phase with credentials trusts",
      (name) => {
        const container = containersOf(spec).find((each) => each.name === name);
        expect(JSON.stringify(container?.env)).not.toContain("secretKeyRef");
        expect(container?.volumeMounts.filter((mount) => secretVolumes.includes(mount.name))).toEqual([]);
        expect(container?.volumeMounts.find((mount) => mount.name === "analysis")).toMatchObject({ readOnly: true });
      },
    );

    test.each(["analyze", "restore", "export"])(
      "%s, which does not, has them by environment and not as files",
      (name) => {
        const container = containersOf(spec).find((each) => each.name === name);
        expect(container?.env.find((variable) => variable.name === "CNB_REGISTRY_AUTH")?.valueFrom).toEqual({
          secretKeyRef: { name: registrySecret, key: "lifecycle-auth" },
        });
        expect(container?.volumeMounts.filter((mount) => secretVolumes.includes(mount.name))).toEqual([]);
      },
    );
  },
);

describe("Secrets of a build", () => {
  const text = (value: unknown): string => Buffer.from(String(value), "base64").toString();

  test("variables are files, named by an item and not by a key", () => {
    const secret = planEnvSecret(
      staging(),
      { PRICE: "5", PASSWORD: "p" },
      { order: { kind: "chosen", text: "[[order]]" }, inputs: "[source]" },
    );
    const data = secret["data"] as Record<string, string>;
    const items = specOf().volumes.find(({ name }) => name === "platform")?.secret?.items ?? [];
    expect(items.map(({ key, path }) => [path, text(data[key])])).toEqual([
      ["env/PRICE", "5"],
      ["env/PASSWORD", "p"],
    ]);
    expect(text(data["order.toml"])).toBe("[[order]]");
    expect(text(data["project-metadata.toml"])).toBe("[source]");
    expect(secret.metadata?.ownerReferences).toMatchObject([{ kind: "Staging", uid: "uid-shop-1" }]);
  });

  test("a name that can be no file is left out", () => {
    const env = ["a/b", "..", "..x", "A.B", "ä"].map((name) => ({ name, value: "v" }));
    const items = specOf({ staging: staging({ env }) }).volumes.find(({ name }) => name === "platform")?.secret?.items;
    expect(items?.map(({ path }) => path)).toEqual(["env/A.B", "env/ä"]);
  });

  test("too large an environment is refused by size, without a value", () => {
    const values = { PRICE: "x".repeat(999_999), PASSWORD: "secret" };
    expect(() => planEnvSecret(staging(), values, { order: undefined, inputs: "" })).toThrow(
      "the environment of the build has 1000005 bytes",
    );
  });

  test("credentials come for the kubelet and for the lifecycle", () => {
    const config = JSON.stringify({
      auths: {
        "r.example.com": { auth: "dTpw" },
        "s.example.com": { username: "u", password: "p" },
        "t.example.com": {},
      },
    });
    const images = ["r.example.com/cf/app:1", "s.example.com/run", "r.example.com/other", "t.example.com/x", "run:1"];
    const data = planRegistrySecret(staging(), config, images)["data"] as Record<string, string>;
    expect(text(data[".dockerconfigjson"])).toBe(config);
    expect(JSON.parse(text(data["lifecycle-auth"]))).toEqual({
      "r.example.com": "Basic dTpw",
      "s.example.com": "Basic dTpw",
    });
    const hub = JSON.stringify({ auths: { "https://index.docker.io/v1/": { identitytoken: "t" } } });
    expect(toLifecycleAuth(hub, images)).toEqual({ "index.docker.io": "X-Identity t" });
  });
});

describe("names", () => {
  test.each([
    ["shop-1", "shop-1-build"],
    ["a.b", /^a-b-build-[0-9a-f]{10}$/],
    ["x".repeat(90), /^x{46}-build-[0-9a-f]{10}$/],
  ])("the Pod of %s", (name, expected) => {
    const podName = toPodName(staging({}, { name }));
    expect(podName).toMatch(typeof expected === "string" ? new RegExp(`^${expected}$`) : expected);
    expect(podName.length).toBeLessThanOrEqual(63);
  });

  test("images are in the space's part of the registry", () =>
    expect(toBuildImages("r.example.com/cf", staging().spec)).toEqual({
      image: `r.example.com/cf/${guid(2)}/apps/${guid(1)}:${guid(4)}`,
      latest: `r.example.com/cf/${guid(2)}/apps/${guid(1)}:latest`,
      cache: `r.example.com/cf/${guid(2)}/apps/${guid(1)}/cache:latest`,
      repository: `r.example.com/cf/${guid(2)}/apps/${guid(1)}`,
    }));
});
