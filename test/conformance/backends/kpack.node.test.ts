// The builder class kpack with kpack's own controller on a node. By name only, since building kpack takes a quarter of an hour: `npm run test:kpack`.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { REGISTRY_SECRET } from "../../../crds/registry-secret.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { ClusterRole, ClusterRoleBinding, Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { listOperationManifests, serviceAccountName } from "../../../platform/operations/permissions.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { startCluster, whyNoCluster, type TestCluster } from "../../cluster/given/given-cluster.ts";
import type { GuardedProcess } from "../../cluster/guarded-process.ts";
import { startKpack } from "../../cluster/kpack.ts";
import { eventually } from "../../eventually.ts";
import { createSpace, dockerConfig, pushBuilderImages } from "./builder-cluster.ts";
import {
  BUILD_MS,
  buildEnded,
  CACHING,
  FAILING,
  type FailingApp,
  HELLO,
  podProxyPath,
  startApp,
  startBuild,
} from "./built-apps.ts";

const execute = promisify(execFile);
const reason = whyNoCluster();
if (reason) console.log(`builder kpack: skipped, ${reason}`);
/** At random, since the cluster may be somebody's. */
const platformToken = randomUUID();

/** The rights of the operation, as the chart gives them to its ServiceAccount: the laptop's platform has none in kpack's kinds. */
async function grantKpack(admin: KubeClient): Promise<void> {
  const name = serviceAccountName("kpack-builder");
  const role = listOperationManifests().find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === name);
  await applyObjects(admin, [role!]);
  await admin.create(ClusterRoleBinding, {
    metadata: { name: "kpack-builder-of-the-test" },
    roleRef: { apiGroup: ClusterRole.group, kind: "ClusterRole", name },
    subjects: [{ apiGroup: ClusterRole.group, kind: "Group", name: PLATFORM_GROUP }],
  });
}

describe.skipIf(reason)("builder kpack with kpack on a node", { timeout: 600_000 }, () => {
  let node: TestCluster;
  let kpack: GuardedProcess;
  let admin: KubeClient;
  let platform: RunningPlatform;
  let scratch: string;
  let namespace: string;

  const setParameters = (parameters: Record<string, string>): Promise<void> =>
    applyObjects(admin, [
      systemObject(BackendClass, "kpack", { role: "builder", parameters }),
      systemObject(BackendClass, "deployment", { role: "runner" }),
    ]);

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "cupola-kpack-"));
    node = await startCluster([{ token: platformToken, user: "cupola", groups: [PLATFORM_GROUP] }]);
    await pushBuilderImages(node, scratch);
    admin = createClient({
      server: node.url,
      ca: node.ca,
      auth: { kind: "token", token: node.adminToken },
      fieldManager: "person",
    });
    kpack = await startKpack(node, admin, scratch);
    await installManifests(admin);
    await grantKpack(admin);
    const config = dockerConfig(node);
    writeFileSync(join(scratch, "config.json"), config);
    await setParameters({ builderImage: `${node.registry.host}/team/builder:1` });
    await admin.create(Secret, {
      metadata: { namespace: SYSTEM_NAMESPACE, name: REGISTRY_SECRET },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
    });
    platform = await startPlatform({
      access: { server: node.url, ca: node.ca, auth: { kind: "token", token: platformToken } },
      operations: ["controllers", "kpack-builder", "deployment-runner", "instance-index"],
      data: join(scratch, "data"),
      listen: { host: "127.0.0.1", port: 0 },
      registry: {
        prefix: { host: node.registry.host, path: "cf" },
        credentialsFile: join(scratch, "config.json"),
        insecureHosts: [node.registry.host],
      },
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
    });
    namespace = await createSpace(admin);
  }, 4_000_000);

  afterAll(async () => {
    await platform?.stop({ instances: "keep" });
    await admin?.close();
    await kpack?.kill();
    await node?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Makes an app with these files and builds it. Returns when the build has ended. */
  async function push(name: string, files: Record<string, string>, build?: object): Promise<Build> {
    await startBuild(admin, { namespace, name }, { files, ...(build && { build }) });
    return await buildEnded(admin, { namespace, name });
  }

  const listCredentials = async (name: string): Promise<string[]> =>
    (await admin.list(Secret, { namespace })).items
      .map(({ metadata }) => metadata.name)
      .filter((found) => found.startsWith(`${name}-kpack`));

  test("source becomes an image with its processes, and runs as a pod", async () => {
    const { status } = await push("hello", HELLO);
    expect(status?.error).toBeUndefined();
    expect((await admin.get(Droplet, { namespace, name: "hello" })).spec).toMatchObject({
      kind: "cnb",
      image: expect.stringMatching(/\/cf\/[^/]+\/apps\/[^/]+@sha256:[0-9a-f]{64}$/) as string,
      imagePullSecretRef: { name: REGISTRY_SECRET },
      processTypes: { web: expect.stringContaining("server.js") as string },
      buildpacks: [{ name: "cupola/nodejs", version: "0.1.0" }],
      stack: "dev.cupola.test",
    });
    expect(await listCredentials("hello")).toEqual([]);
    await startApp(admin, { namespace, name: "hello" });
    await eventually(async () => {
      const path = await podProxyPath(admin, { namespace, name: "hello" });
      const args = ["--kubeconfig", node.kubeconfig, "get", "--raw", path];
      expect((await execute(node.kubectl, args, { timeout: 60_000 })).stdout).toBe("hello from the space");
    }, BUILD_MS);
  });

  test("a build finds the cached layers of the app's build before", async () => {
    for (const [at, files] of CACHING.entries())
      expect((await push(`cached.${at}`, files)).status).toMatchObject({ state: "Staged" });
  });

  test.each<FailingApp>([
    ...FAILING,
    {
      app: "named",
      files: HELLO,
      build: { lifecycle: { type: "buildpack", buildpacks: ["cupola/nodejs"] } },
      code: "NoBuildpacksFound",
      message: "takes the order of its builder image",
    },
  ])("a build fails with Cloud Foundry's code: $app", async ({ app, files, build, code, message }) => {
    const { status } = await push(app, files, build);
    expect(status?.error).toEqual({ code, message: expect.stringContaining(message) as string });
    expect(await listCredentials(app)).toEqual([]);
  });

  test("a run image that cannot be read fails kpack's first step, and the build says why", async () => {
    const builderImage = `${node.registry.host}/team/builder:1`;
    await setParameters({ builderImage, runImage: `${node.registry.host}/team/none:1` });
    const { status } = await push("no-run-image", HELLO);
    const message = expect.stringMatching(/the phase prepare ended with exit code 1: .*team\/none:1/) as string;
    expect(status?.error).toEqual({ code: "StagingError", message });
    await setParameters({ builderImage });
  });
});
