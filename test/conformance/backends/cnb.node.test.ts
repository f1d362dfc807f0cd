// The builder class cnb on a node: source becomes an image that runs, every failure has Cloud Foundry's code, and no build sees a credential.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseImageName } from "../../../blobs/registry/image-name.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Build } from "../../../crds/build/build.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Package } from "../../../crds/package/package.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { REGISTRY_SECRET } from "../../../crds/registry-secret.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { startCluster, whyNoCluster, type TestCluster } from "../../cluster/given/given-cluster.ts";
import { eventually } from "../../eventually.ts";
import { serveBuildpackImage } from "../../e2e/sources/buildpack-image.ts";
import { createSpace, dockerConfig, pushBuilderImages, pushPlatformImage } from "./builder-cluster.ts";
import {
  BUILD_MS,
  buildEnded,
  CACHING,
  FAILING,
  type FailingApp,
  HELLO,
  podProxyPath,
  SERVER,
  startApp,
  startBuild,
} from "./built-apps.ts";
import { MARK_BUILDPACK, storeBuildpack } from "./buildpack-upload.ts";
import { listLayers, pushPatchedImage } from "./run-images.ts";

const execute = promisify(execFile);
const reason = whyNoCluster();
if (reason) console.log(`builder cnb: skipped, ${reason}`);
/** At random, since the cluster may be somebody's. */
const platformToken = randomUUID();
const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

const TEST_MS = 600_000;

/** Things that an app can look at from inside a phase: variables, mounts, files and other processes' variables. */
const SPY = `
set +e
env
cat /proc/mounts
for place in / /cupola /var /run /home /layers /platform /workspace /tmp; do ls -laR $place/*cred* $place/run $place/.docker 2>/dev/null; done
find /cupola /var/run /run /home /layers /workspace /platform -type f 2>/dev/null | while read file; do head -c 4096 "$file"; echo; done
cat /proc/[0-9]*/environ 2>/dev/null | head -c 20000
if echo changed > /cupola/analysis/analyzed.toml; then echo analysis-""written; fi
echo spy-""ends
`;

describe.skipIf(reason)("builder cnb on a node", { timeout: TEST_MS }, () => {
  let node: TestCluster;
  let admin: KubeClient;
  let platform: RunningPlatform;
  let scratch: string;
  let namespace: string;
  /** The Staging of the first test, for those that start from its result. */
  let ofHello: Staging;
  /** A buildpack's image in a registry that asks nobody for credentials. */
  let greeter: Awaited<ReturnType<typeof serveBuildpackImage>> | undefined;

  const kubectl = async (...args: string[]): Promise<string> => {
    const all = ["--kubeconfig", node.kubeconfig, ...args];
    return (await execute(node.kubectl, all, { timeout: 60_000, maxBuffer: 16 * 2 ** 20 })).stdout;
  };

  const startBuilder = (): Promise<RunningPlatform> =>
    startPlatform({
      access: { server: node.url, ca: node.ca, auth: { kind: "token", token: platformToken } },
      operations: ["controllers", "cnb-builder", "deployment-runner", "instance-index"],
      data: join(scratch, "data"),
      listen: { host: "127.0.0.1", port: 0 },
      registry: {
        prefix: { host: node.registry.host, path: "cf" },
        credentialsFile: join(scratch, "config.json"),
        insecureHosts: [node.registry.host, ...(greeter ? [parseImageName(greeter.image).host] : [])],
      },
      log,
    });

  const setBuilderImage = (builderImage: string, more: { runImage?: string } = {}): Promise<void> =>
    applyObjects(admin, [
      systemObject(BackendClass, "cnb", {
        role: "builder",
        parameters: { builderImage, platformImage: `${node.registry.host}/team/cupola:1`, ...more },
      }),
      systemObject(BackendClass, "deployment", { role: "runner" }),
    ]);

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "cupola-cnb-"));
    node = await startCluster([{ token: platformToken, user: "cupola", groups: [PLATFORM_GROUP] }]);
    await pushBuilderImages(node, scratch);
    await pushPlatformImage(node, scratch);
    admin = createClient({
      server: node.url,
      ca: node.ca,
      auth: { kind: "token", token: node.adminToken },
      fieldManager: "person",
    });
    await installManifests(admin);
    const config = dockerConfig(node);
    writeFileSync(join(scratch, "config.json"), config);
    await setBuilderImage(`${node.registry.host}/team/builder:1`);
    await admin.create(Secret, {
      metadata: { namespace: SYSTEM_NAMESPACE, name: REGISTRY_SECRET },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
    });
    greeter = node.hostAddress === undefined ? undefined : await serveBuildpackImage(node.hostAddress);
    platform = await startBuilder();
    namespace = await createSpace(admin);
  }, 1_800_000);

  afterAll(async () => {
    await platform?.stop({ instances: "keep" });
    await admin?.close();
    await greeter?.stop();
    await node?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Makes an app with these files and builds it. Returns when the build has ended. */
  async function push(name: string, files: Record<string, string>, build: object = {}): Promise<Build> {
    await startPush(name, files, build);
    return await untilEnded(name);
  }

  const startPush = (name: string, files: Record<string, string>, build?: object): Promise<void> =>
    startBuild(admin, { namespace, name }, { files, ...(build && { build }) });

  const untilEnded = (name: string): Promise<Build> => buildEnded(admin, { namespace, name });

  /** Waits until the app's pod answers through the API server. */
  async function untilAnswers(app: string, answer: string): Promise<void> {
    await eventually(async () => {
      const path = await podProxyPath(admin, { namespace, name: app });
      expect(await kubectl("get", "--raw", path)).toBe(answer);
    }, BUILD_MS);
  }

  const logOf = (name: string, container: string): Promise<string> =>
    kubectl("logs", "-n", namespace, `${name}-build`, "-c", container);

  const dropletOf = async (name: string): Promise<Droplet["spec"]> =>
    (await admin.get(Droplet, { namespace, name })).spec;

  test("source becomes an image with its processes, and runs as a pod", async () => {
    await startPush("hello", HELLO);
    ofHello = await eventually(() => admin.get(Staging, { namespace, name: "hello" }), BUILD_MS);
    const build = await untilEnded("hello");
    expect(build.status?.error).toBeUndefined();
    const { spec } = await admin.get(Droplet, { namespace, name: "hello" });
    expect(spec).toMatchObject({
      kind: "cnb",
      image: expect.stringMatching(/\/cf\/[^/]+\/apps\/[^/]+@sha256:[0-9a-f]{64}$/) as string,
      imagePullSecretRef: { name: REGISTRY_SECRET },
      processTypes: { web: expect.stringContaining("server.js") as string },
      buildpacks: [{ name: "cupola/nodejs", version: "0.1.0" }],
      stack: "dev.cupola.test",
    });
    await startApp(admin, { namespace, name: "hello" });
    await untilAnswers("hello", "hello from the space");
  });

  test("a restage after the run image alone changed moves the app's layers, builds nothing, and says so", async () => {
    const { host } = node.registry;
    const images = [`${host}/team/run:1`, `${host}/team/run:2`] as const;
    await pushPatchedImage(node, ...images);
    const [ofFirst, ofSecond] = await Promise.all(images.map((image) => listLayers(node, image)));
    const before = await dropletOf("hello");
    const layers = (await listLayers(node, before.image ?? "")).slice(ofFirst?.length);
    await setBuilderImage(`${host}/team/builder:1`, { runImage: images[1] });
    const appRef = { name: "hello" };
    const restage = { appRef, packageRef: { name: "hello" } };
    await admin.create(Build, { metadata: { namespace, name: "hello-restaged" }, spec: restage });
    expect((await untilEnded("hello-restaged")).status).toMatchObject({ state: "Staged" });
    const after = await dropletOf("hello-restaged");
    expect(await listLayers(node, after.image ?? "")).toEqual([...(ofSecond ?? []), ...layers]);
    expect(layers.length).toBeGreaterThan(1);
    expect(after).toEqual({ ...before, image: after.image, buildRef: { name: "hello-restaged" } });
    // Back again, by a Staging without a Build, whose Pods stay for a while.
    await setBuilderImage(`${host}/team/builder:1`);
    const { metadata, spec } = ofHello;
    // Without the label of its Build, which has ended and removes its Stagings.
    const { [LABELS.ownerUid]: _build, ...labels } = metadata.labels ?? {};
    await admin.create(Staging, {
      metadata: { namespace, name: "hello-back", labels },
      spec: { ...spec, buildGUID: "hello-back" },
    });
    const image = await eventually(async () => {
      const { status } = await admin.get(Staging, { namespace, name: "hello-back" });
      if (status?.state !== "Succeeded") throw new Error(JSON.stringify(status));
      return status.droplet?.image ?? "";
    }, BUILD_MS);
    expect(await listLayers(node, image)).toEqual([...(ofFirst ?? []), ...layers]);
    expect(await kubectl("logs", "-n", namespace, "hello-back-rebase", "-c", "announce")).toMatch(
      /^Only the run image changed since the app's last build: its layers move to \S+\/team\/run:1 unchanged\.$/m,
    );
    expect(await admin.find(Pod, { namespace, name: "hello-back-build" })).toBeUndefined();
    await admin.delete(Staging, { namespace, name: "hello-back" });
  });

  test("a buildpack by the address of its image is fetched and builds", async ({ skip }) => {
    if (!greeter) return skip("a given cluster may not reach this machine");
    const buildpacks = [`docker://${greeter.image}`];
    const { status } = await push("greeter", { "greeting.txt": "greeted" }, { lifecycle: { type: "cnb", buildpacks } });
    expect(status?.error).toBeUndefined();
    expect(await dropletOf("greeter")).toMatchObject({
      buildpacks: [{ name: "test/greeter", version: "1.0.0" }],
      processTypes: { web: expect.stringContaining("greeting.txt") as string },
    });
    return undefined;
  });

  test("the image's buildpacks are listed; an uploaded one builds at its position and sees no credential", async () => {
    const listed = async (): Promise<unknown[]> => {
      const { items } = await admin.list(Buildpack, { namespace: SYSTEM_NAMESPACE });
      const ordered = items.toSorted((a, b) => a.spec.position - b.spec.position);
      return ordered.map(({ spec, status }) => [spec.name, spec.position, spec.builder, status?.version]);
    };
    await eventually(
      async () =>
        expect(await listed()).toEqual([
          ["test/script", 1, "cnb", "1.0.0"],
          ["cupola/nodejs", 2, "cnb", "0.1.0"],
          ["cupola/staticfile", 3, "cnb", "0.1.0"],
          ["cupola/procfile", 4, "cnb", "0.1.0"],
        ]),
      BUILD_MS,
    );
    const spy = { ...MARK_BUILDPACK, "bin/build": `${MARK_BUILDPACK["bin/build"]}\n${SPY}\ntest ! -f fail` };
    const content = await storeBuildpack(node, spy);
    const name = { namespace: SYSTEM_NAMESPACE, name: "mark" };
    await admin.create(Buildpack, { metadata: name, spec: { name: "mark", position: 1, content } });
    const files = { mark: "", "build.sh": "exit 9", "server.js": SERVER };
    // Another buildpack that fits has the same position; its name is after this one's.
    expect((await push("marked", files)).status).toMatchObject({ state: "Staged" });
    expect((await admin.get(Droplet, { namespace, name: "marked" })).spec.buildpacks).toMatchObject([
      { name: "me/mark", version: "1.2.3" },
    ]);
    // The pod of a failed build stays, with its log.
    expect((await push("marked-fails", { ...files, fail: "" })).status?.error?.code).toBe("BuildpackCompileFailed");
    const seen = await logOf("marked-fails", "build");
    expect(seen).toContain("spy-ends");
    for (const secret of [node.registry.password, "analysis-written"]) expect(seen).not.toContain(secret);
    await admin.delete(Buildpack, name);
  });

  test("an image needs no builder: its droplet runs as it is", async () => {
    const { spec } = await admin.get(Droplet, { namespace, name: "hello" });
    const [name, appRef] = ["image", { name: "image" }];
    await admin.create(App, { metadata: { namespace, name }, spec: { env: [{ name: "PLACE", value: "an image" }] } });
    const { image, imagePullSecretRef } = spec;
    await admin.create(Package, {
      metadata: { namespace, name },
      spec: { appRef, type: "docker", image, imagePullSecretRef },
    });
    await admin.create(Build, { metadata: { namespace, name }, spec: { appRef, packageRef: { name } } });
    const { status } = await untilEnded(name);
    expect(status).toMatchObject({ state: "Staged", droplet: name });
    expect(await admin.find(Staging, { namespace, name })).toBeUndefined();
    await startApp(admin, { namespace, name });
    await untilAnswers(name, "hello from an image");
  });

  test("a build finds the cached layers of the app's build before", async () => {
    for (const [at, files] of CACHING.entries())
      expect((await push(`cached.${at}`, files)).status).toMatchObject({ state: "Staged" });
  });

  test.each<FailingApp>([
    ...FAILING,
    {
      app: "unknown",
      files: { "server.js": SERVER },
      build: { lifecycle: { type: "buildpack", buildpacks: ["x/java"] } },
      code: "NoBuildpacksFound",
      message: "the builder image has no buildpack x/java",
    },
  ])("a build fails with Cloud Foundry's code: $app", async ({ app, files, build, code, message }) => {
    const { status } = await push(app, files, build);
    expect(status?.error).toEqual({ code, message: expect.stringContaining(message) as string });
  });

  test("a build that takes too long is ended", async () => {
    await startPush("late", { "build.sh": "sleep 1000" });
    const model = await eventually(() => admin.get(Staging, { namespace, name: "late" }));
    await admin.delete(Build, { namespace, name: "late" });
    const spec = { ...model.spec, timeoutSeconds: 10, app: { guid: "late-app", name: "late" } };
    await admin.create(Staging, {
      metadata: { namespace, name: "late-2", labels: { ...model.metadata.labels } },
      spec,
    });
    const { error } = await eventually(async () => {
      const { status } = await admin.get(Staging, { namespace, name: "late-2" });
      if (status?.state !== "Failed") throw new Error(JSON.stringify(status));
      return status;
    }, BUILD_MS);
    expect(error).toMatchObject({ code: "StagingTimeExpired" });
    // Deleting the Build deleted the Staging, and that its Pod.
    await eventually(
      async () => expect(await admin.find(Pod, { namespace, name: "late-build" })).toBeUndefined(),
      BUILD_MS,
    );
  });

  test("no credential is visible where code of buildpacks and apps runs, and the analysis cannot be changed there", async () => {
    const { status } = await push("spy", { "build.sh": `${SPY}\nexit 1` });
    expect(status?.error?.code).toBe("BuildpackCompileFailed");
    const { username, password } = node.registry;
    const basic = Buffer.from(`${username}:${password}`).toString("base64");
    const seen = await logOf("spy", "build");
    expect(seen).toContain("spy-ends");
    // It sees the variables of the lifecycle, in whose environment credentials would be.
    expect(seen).toContain("CNB_PLATFORM_API");
    for (const secret of [password, basic, "analysis-written"]) expect(seen).not.toContain(secret);
    await eventually(async () => {
      const secrets = (await admin.list(Secret, { namespace })).items.map(({ metadata }) => metadata.name);
      expect(secrets.filter((name) => name.startsWith("spy-build"))).toEqual([]);
    }, BUILD_MS);
  });

  test("a build goes on while no builder runs, and the next one reports it", async () => {
    await startPush("restart", { "build.sh": "sleep 8", "server.js": SERVER });
    await eventually(async () => {
      const pod = await admin.get(Pod, { namespace, name: "restart-build" });
      expect(pod.status?.initContainerStatuses?.find(({ name }) => name === "build")?.state?.running).toBeDefined();
    }, BUILD_MS);
    await platform.stop({ instances: "keep" });
    platform = await startBuilder();
    expect((await untilEnded("restart")).status?.state).toBe("Staged");
  });

  test("a builder image that is not there is said in the class and in the build", async () => {
    await setBuilderImage(`${node.registry.host}/team/none:1`);
    await eventually(async () => {
      const { status } = await admin.get(BackendClass, { name: "cnb" });
      expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
        status: "False",
        reason: "BuilderImageUnusable",
        message: expect.stringContaining("team/none:1 cannot be read: there is no image") as string,
      });
    }, BUILD_MS);
    const { status } = await push("none", { "server.js": SERVER });
    expect(status?.error).toMatchObject({
      code: "StagingError",
      message: expect.stringContaining("team/none:1") as string,
    });
  });
});
