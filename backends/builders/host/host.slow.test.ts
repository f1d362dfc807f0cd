// The controller of Stagings: status, one build per app, secrets, deletion, and restart after an interruption.
import { access, mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import type { ReconcileResult } from "../../../kube/controller/controller.ts";
import type { Change } from "../../../kube/cache/reader.ts";
import { createTelemetry, type Telemetry } from "../../../telemetry/telemetry.ts";
import { findByEnvironment } from "../../host/process-table.ts";
import { buildpackController } from "./buildpack-controller.ts";
import { planNextBuild } from "./build-queue.ts";
import { ownerFile } from "../../host/root-owner.ts";
import { createHostBuilder, type HostBuilder } from "./host.ts";
import { planGarbageCollection, collectGarbage } from "./garbage-collection.ts";

let directory: string;
let blobs: BlobStore;
let telemetry: Telemetry;
let builders: HostBuilder[];
let changed: (change: Change<Staging>) => void;
let lists: { synced: boolean; Droplet: object[]; LRP: object[]; Staging: object[]; Buildpack: object[] };
const errors: unknown[] = [];
const secrets: Record<string, { data: Record<string, string> }> = {};

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-builder-"));
  blobs = await createDirectoryStore(join(directory, "blobs"));
  telemetry = createTelemetry();
  builders = [];
  errors.length = 0;
  lists = { synced: true, Droplet: [], LRP: [], Staging: [], Buildpack: [] };
});
afterEach(async () => {
  await Promise.all(builders.map((builder) => builder.stop()));
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

const informers = {
  ensure: () => ({
    release: () => undefined,
    store: { onChange: (listener: typeof changed) => ((changed = listener), () => undefined) },
  }),
  store: () => ({ synced: lists.synced }),
  read: { list: (ref: { kind: "Droplet" | "LRP" | "Staging" | "Buildpack" }) => lists[ref.kind] },
};

/** A started builder and its controller. */
async function startBuilder(buildSettings?: Record<string, string>) {
  const builder = createHostBuilder({
    home: join(directory, "home"),
    dropletsDir: join(directory, "droplets"),
    client: { find: (_ref: unknown, key: { name: string }) => Promise.resolve(secrets[key.name]) } as never,
    informers: informers as never,
    blobs,
    telemetry,
    isLeader: () => true,
    ...(buildSettings && { buildSettings }),
    onError: (error) => void errors.push(error),
  });
  builders.push(builder);
  await builder.start();
  const controller = builder.controllers[0];
  if (!controller) throw new Error("there is no controller");
  const onEnqueue = vi.fn();
  for (const source of controller.sources ?? []) source(onEnqueue, new AbortController().signal);
  const look = (staging: Staging): ReconcileResult =>
    controller.reconcile(staging as never, {} as never) as ReconcileResult;
  return { builder, look, onEnqueue };
}

const slow = "#!/bin/sh\nsleep 300\n";

async function aStaging(name: string, spec: object = {}, status: object = {}): Promise<Staging> {
  const body = Buffer.from(JSON.stringify({ scripts: { start: "node server.js" } }));
  const content = await blobs.put(
    "space-1",
    "package",
    packMembers([
      { path: "package.json", type: "file", mode: 0o644, size: body.length, content: () => Readable.from([body]) },
    ]),
    { maxBytes: 1e6 },
  );
  const identity = (guid: string) => ({ guid, name: guid });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "Staging",
    metadata: { name, namespace: "acme-dev", uid: `uid-${name}` },
    spec: {
      class: "host",
      app: identity(`app-${name}`),
      space: identity("space-1"),
      org: identity("org-1"),
      buildGUID: `build-${name}`,
      lifecycleType: "buildpack",
      package: { type: "bits", content },
      buildpacks: [{ name: "nodejs_buildpack", path: "nodejs" }],
      detect: true,
      stack: "host",
      env: [],
      memoryMB: 1024,
      diskMB: 1024,
      timeoutSeconds: 60,
      ...spec,
    },
    status,
  } as Staging;
}

/** A buildpack that builds for minutes, and its process once it runs. */
function slowBuildpack(): Promise<string> {
  return buildpackOf(slow);
}

/** A buildpack whose bin/build is this script. */
async function buildpackOf(script: string): Promise<string> {
  const folder = join(directory, "slow");
  await mkdir(join(folder, "bin"), { recursive: true });
  await writeFile(
    join(folder, "buildpack.toml"),
    `api = "0.10"\n[buildpack]\nid = "test/slow"\nversion = "1.0.0"\n[[stacks]]\nid = "*"\n`,
  );
  await writeFile(join(folder, "bin", "detect"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(join(folder, "bin", "build"), script, { mode: 0o755 });
  return folder;
}

async function until<T>(look: () => T | Promise<T>, isLeader: (value: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 15_000; ; await delay(20)) {
    const value = await look();
    if (isLeader(value)) return value;
    if (Date.now() > deadline) throw new Error(`it never came to be: ${JSON.stringify(value)}`);
  }
}

const state = (result: ReconcileResult): unknown => result.status?.["state"];
const ended = (result: ReconcileResult): boolean => ["Succeeded", "Failed"].includes(String(state(result)));
const linesOf = (app: string): string[] =>
  telemetry.ring.read(app, { limit: 1000 }).map((envelope) => Buffer.from(envelope.log.payload, "base64").toString());
const buildProcesses = (name: string): Promise<number[]> =>
  findByEnvironment(`TMPDIR=${join(directory, "home", "staging", `build-${name}`)}`);

test("a Staging runs and succeeds, its status stays the same, and its log is the app's", async () => {
  const { look, onEnqueue } = await startBuilder();
  const staging = await aStaging("a");
  const first = look(staging);
  expect(first).toMatchObject({
    status: { state: "Running", startedAt: expect.any(String) },
    ready: { reason: "Building" },
  });
  expect(look(staging)).toEqual(first);
  const last = await until(() => look(staging), ended);
  expect(last.status).toMatchObject({
    state: "Succeeded",
    startedAt: first.status?.["startedAt"],
    droplet: {
      kind: "host",
      root: join(directory, "droplets", "build-a"),
      processTypes: { web: "node server.js" },
      stack: "host",
      buildpacks: [{ name: "nodejs_buildpack", detectOutput: "nodejs" }],
    },
  });
  expect(onEnqueue).toHaveBeenCalledWith({ namespace: "acme-dev", name: "a" });
  expect(look({ ...staging, status: last.status } as Staging)).toEqual(last);
  expect(linesOf("app-a").at(-1)).toBe("Staging complete");
  expect(await readdir(join(directory, "home", "staging"))).toEqual([]);
  expect(errors).toEqual([]);
});

test("a laptop's proxy reaches a build, and a certificate that is not trusted is answered with what to set", async () => {
  const { look } = await startBuilder({ HTTPS_PROXY: "http://proxy.example.org:3128" });
  const path = await buildpackOf('#!/bin/sh\necho "by $HTTPS_PROXY: SELF_SIGNED_CERT_IN_CHAIN" >&2\nexit 1\n');
  const staging = await aStaging("proxy", { buildpacks: [{ name: path, path }], detect: false });
  const { status } = await until(
    () => look(staging) as { status?: { state?: string; error?: { message: string } } },
    (result) => result.status?.state === "Failed",
  );
  expect(status?.error?.message).toContain("set NODE_EXTRA_CA_CERTS and SSL_CERT_FILE");
  expect(linesOf("app-proxy")).toContain("by http://proxy.example.org:3128: SELF_SIGNED_CERT_IN_CHAIN");
});

test("secrets reach the build; a missing one fails it by name, and no value appears in status or log", async () => {
  secrets["a-env"] = { data: { TOKEN: Buffer.from("hunter2").toString("base64") } };
  const { look } = await startBuilder();
  const env = (key: string) => [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "a-env", key } } }];
  const good = await aStaging("a", { env: env("TOKEN") });
  expect(state(await until(() => look(good), ended))).toBe("Succeeded");
  const bad = await aStaging("b", { env: env("OTHER") });
  const failed = await until(() => look(bad), ended);
  expect(failed.status).toMatchObject({
    state: "Failed",
    error: { code: "StagingError", message: expect.stringContaining("needs key OTHER of Secret a-env") },
  });
  expect(JSON.stringify([failed, linesOf("app-a"), linesOf("app-b")])).not.toContain("hunter2");
});

test("the status of a failed build has CF's code and words", async () => {
  const { look } = await startBuilder();
  const staging = await aStaging("a", { buildpacks: [{ name: "static", path: "staticfile" }] });
  const result = await until(() => look(staging), ended);
  expect(result).toMatchObject({
    status: {
      state: "Failed",
      error: {
        code: "NoAppDetectedError",
        message: expect.stringMatching(
          /^An app was not successfully detected by any available buildpack: .*cupola\/staticfile@.*: no Staticfile/,
        ),
      },
    },
    ready: { status: "False", reason: "NoAppDetectedError" },
  });
});

test("detection skips a buildpack that cannot be used; naming it, or having none at all, fails", async () => {
  const { look } = await startBuilder();
  const buildpacks = [
    { name: "gone_buildpack", path: "/nowhere" },
    { name: "nodejs_buildpack", path: "nodejs" },
  ];
  const tried = await aStaging("a", { buildpacks });
  expect(state(await until(() => look(tried), ended))).toBe("Succeeded");
  expect(linesOf("app-a")[0]).toMatch(/the buildpack gone_buildpack is skipped: there is no buildpack in \/nowhere/);
  const named = await aStaging("b", { buildpacks, detect: false });
  expect((await until(() => look(named), ended)).status).toMatchObject({
    state: "Failed",
    error: { code: "NoBuildpacksFound", message: expect.stringContaining("/nowhere") },
  });
  const none = await aStaging("c", { buildpacks: [] });
  expect((await until(() => look(none), ended)).status).toMatchObject({
    state: "Failed",
    error: { code: "NoBuildpacksFound", message: expect.stringMatching(/no buildpack is enabled.* -b docker:/) },
  });
});

test("a build whose buildpack does not come ends at its deadline", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { look } = await startBuilder();
    const name = `docker://127.0.0.1:${(server.address() as AddressInfo).port}/team/bp`;
    const staging = await aStaging("a", { buildpacks: [{ name }], timeoutSeconds: 1 });
    expect((await until(() => look(staging), ended)).status).toMatchObject({
      state: "Failed",
      error: { code: "StagingTimeExpired", message: expect.stringContaining("longer than 1 seconds") },
    });
  } finally {
    server.close();
  }
});

test("a composite is used by its folder, with the components beside it", async () => {
  const { look } = await startBuilder();
  const files: Record<string, string> = {
    "both/buildpack.toml": `api = "0.12"\n[buildpack]\nid = "foreign/both"\nversion = "1.0.0"\n[[order]]\n[[order.group]]\nid = "foreign/part"\nversion = "2.0.0"\n`,
    "part/buildpack.toml": `api = "0.12"\n[buildpack]\nid = "foreign/part"\nversion = "2.0.0"\n[[stacks]]\nid = "*"\n`,
    "part/bin/detect": "#!/bin/sh\n",
    "part/bin/build": `#!/bin/sh\nprintf '[[processes]]\\ntype = "web"\\ncommand = ["part"]\\n' > $CNB_LAYERS_DIR/launch.toml\n`,
    "broken/buildpack.toml": "this is none",
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, "foreign", path)), { recursive: true });
    await writeFile(join(directory, "foreign", path), content, { mode: 0o755 });
  }
  const staging = await aStaging("a", { buildpacks: [{ name: join(directory, "foreign", "both") }], detect: false });
  const { status } = await until(() => look(staging), ended);
  expect(status).toMatchObject({
    state: "Succeeded",
    droplet: { processTypes: { web: "part" }, buildpacks: [{ name: "foreign/part", version: "2.0.0" }] },
  });
});

test.each([
  ["a bundled one", "nodejs", { status: { id: "cupola/nodejs", version: "0.1.0" }, ready: { status: "True" } }],
  [
    "nothing there",
    "/nowhere/at/all",
    {
      status: { id: undefined },
      ready: {
        status: "False",
        reason: "CannotBeUsed",
        message: expect.stringContaining("no buildpack in /nowhere/at/all") as string,
      },
    },
  ],
  [
    "an address",
    "oci://some/image",
    { ready: { status: "False", message: expect.stringContaining("cannot use oci://some/image") as string } },
  ],
  [
    "an address with a password",
    "ftp://me:hunter2@example.com/x",
    {
      ready: {
        status: "False",
        message: expect.stringContaining("cannot use ftp://***:***@example.com/x") as string,
      },
    },
  ],
])("the condition Usable of a Buildpack: %s", async (_name, path, expected) => {
  const nothing = (): Promise<never> => Promise.reject(new Error("nothing is uploaded or fetched"));
  const controller = buildpackController({ uploaded: nothing, fetched: nothing });
  expect(await controller.reconcile({ spec: { name: "x", path } } as never, {} as never)).toMatchObject(expected);
});

test("a failure is reported once its last line has been readable for longer than readers lag", async () => {
  const { look } = await startBuilder();
  const staging = await aStaging("a", { buildpacks: [{ name: "none", path: "/nowhere" }] });
  look(staging);
  const lines = await until(
    () => telemetry.ring.read("app-a", { descending: true }),
    (found) => found.length > 0,
  );
  const loggedAt = Number(BigInt(lines[0]?.timestamp ?? 0) / 1_000_000n);
  expect(state(await until(() => look(staging), ended))).toBe("Failed");
  expect(Date.now() - loggedAt).toBeGreaterThan(2250);
});

test("an app has one build at a time; the build of a deleted Staging is killed and makes room", async () => {
  const { look } = await startBuilder();
  const buildpacks = [{ name: "slow", path: await slowBuildpack() }];
  const first = await aStaging("a", { buildpacks });
  const second = await aStaging("b", { app: first.spec.app });
  expect(state(look(first))).toBe("Running");
  expect(look(second)).toMatchObject({ status: { state: "Pending" }, ready: { reason: "Waiting" } });
  await until(
    () => buildProcesses("a"),
    (pids) => pids.length > 1,
  );
  changed({ type: "deleted", object: first, initial: false } as Change<Staging>);
  expect(state(await until(() => look(second), ended))).toBe("Succeeded");
  expect(await buildProcesses("a")).toEqual([]);
  await expect(access(join(directory, "droplets", "build-a"))).rejects.toThrow();
});

test("a stop removes all traces of a build; the next run builds the Staging again within its time-out", async () => {
  const one = await startBuilder();
  const slowOne = await aStaging("a", { buildpacks: [{ name: "slow", path: await slowBuildpack() }] });
  one.look(slowOne);
  await until(
    () => buildProcesses("a"),
    (pids) => pids.length > 1,
  );
  // Each try has its own directory, so that its TMPDIR does not lead to the processes of the next leader.
  expect(await readdir(join(directory, "home", "staging"))).toEqual([expect.stringMatching(/^build-a\.[0-9a-f]{8}$/)]);
  await one.builder.stop();
  expect(await buildProcesses("a")).toEqual([]);

  const two = await startBuilder();
  const startedAt = new Date(Date.now() - 5000).toISOString();
  const cut = await aStaging("a", {}, { state: "Running", startedAt });
  expect((await until(() => two.look(cut), ended)).status).toMatchObject({ state: "Succeeded", startedAt });
  const late = await aStaging(
    "b",
    { buildpacks: slowOne.spec.buildpacks },
    { state: "Running", startedAt: new Date(Date.now() - 61_000).toISOString() },
  );
  expect((await until(() => two.look(late), ended)).status).toMatchObject({
    state: "Failed",
    error: { code: "StagingTimeExpired" },
  });
});

test.each([
  ["the first pending one", ["a", "b"], [], "a"],
  ["another app's while the first app is building", ["a", "b"], ["a"], "b"],
  ["none when there is no room", ["c"], ["a", "b"], undefined],
])("the next build is %s", (_name, waiting, running, app) => {
  const entry = (guid: string) => ({ staging: { spec: { app: { guid } } } as never as Staging });
  expect(planNextBuild(waiting.map(entry), running.map(entry), 2)?.staging.spec.app.guid).toBe(app);
});

test("unreferenced old folders are removed, and none while the objects are not synced", async () => {
  const dropletsDir = join(directory, "droplets");
  const cacheDir = join(directory, "home", "cache");
  const buildpacksDir = join(directory, "home", "buildpacks");
  const compileCacheDir = join(directory, "home", "compile-cache");
  const options = { informers: informers as never, dropletsDir, cacheDir, buildpacksDir, compileCacheDir };
  const day = 24 * 60 * 60 * 1000;
  const tenMinutes = 10 / (24 * 60);
  const aged = {
    [join(dropletsDir, "old")]: 2,
    [join(dropletsDir, "deleted-app")]: tenMinutes,
    [join(dropletsDir, ".unpack-running")]: tenMinutes,
    [join(dropletsDir, ".unpack-killed")]: 1,
    [join(dropletsDir, "named")]: 2,
    [ownerFile(join(dropletsDir, "old"))]: 2,
    [ownerFile(join(dropletsDir, "named"))]: 2,
    [join(cacheDir, "gone")]: 31,
    [join(cacheDir, "space-1.app-a")]: 31,
    [join(cacheDir, "resting")]: 2,
    [join(buildpacksDir, "b".repeat(64))]: 1,
    [join(buildpacksDir, "c".repeat(64))]: 1,
    [join(compileCacheDir, "v20-x64")]: 31,
    [join(compileCacheDir, "v26-x64")]: 2,
  };
  for (const [path, days] of Object.entries(aged)) {
    await mkdir(path, { recursive: true });
    await utimes(path, new Date(Date.now() - days * day), new Date(Date.now() - days * day));
  }
  await mkdir(join(dropletsDir, "young"));
  lists.LRP = [{ spec: { droplet: { root: join(dropletsDir, "named") } } }];
  lists.Staging = [await aStaging("a")];
  lists.Buildpack = [{ spec: { content: { digest: `sha256:${"b".repeat(64)}` } } }];
  lists.synced = false;
  await collectGarbage(options, Date.now());
  expect(await readdir(dropletsDir)).toHaveLength(8);
  lists.synced = true;
  await collectGarbage(options, Date.now());
  expect((await readdir(dropletsDir)).sort()).toEqual([".owner-named", ".unpack-running", "named", "young"]);
  expect((await readdir(cacheDir)).sort()).toEqual(["resting", "space-1.app-a"]);
  expect(await readdir(buildpacksDir)).toEqual(["b".repeat(64)]);
  expect(await readdir(compileCacheDir)).toEqual(["v26-x64"]);
  await writeFile(join(compileCacheDir, "v26-x64", "module"), "");
  await truncate(join(compileCacheDir, "v26-x64", "module"), 65 * 2 ** 20);
  await collectGarbage(options, Date.now());
  expect(await readdir(compileCacheDir)).toEqual([]);
  expect(
    planGarbageCollection(
      [
        { path: "/x", modified: 0 },
        { path: "/y", modified: 5 },
      ],
      new Set(["/x"]),
      5,
    ),
  ).toEqual([]);
});
