// Real builds with the bundled buildpacks in their own process, from a stored package to a launched droplet that answers.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { hostEnvironment } from "../../host/host-environment.ts";
import { prepareLaunch } from "../../host/prepare-launch.ts";
import { toProcessTypes } from "../../host/droplet-metadata.ts";
import { findProcess, listMembers, readProcesses, trySignal } from "../../host/process-table.ts";
import { restoreDroplet } from "../../host/restore-droplet.ts";
import { releaseRoot } from "../../host/root-owner.ts";
import { bundledFolder, bundledBuildpacks } from "./bundled-buildpacks.ts";
import { removeOrphanedBuilds } from "./orphaned-builds.ts";
import { groupLeaderFile, runStaging, type StagedDroplet, type StagingJob } from "./staging-job.ts";

const space = "0190aaaa-0000-7000-8000-000000000001";
let directory: string;
let store: BlobStore;
let log: string[];
const groups: number[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-host-"));
  store = await createDirectoryStore(join(directory, "blobs"));
  log = [];
});
afterEach(async () => {
  for (const pgid of groups.splice(0)) trySignal(-pgid, "SIGKILL");
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

const root = (): string => join(directory, "droplets", "b1");
const work = (): string => join(directory, "staging", "b1");

async function packageOf(files: Record<string, string>): Promise<string> {
  const members = Object.entries(files).map(([path, body]) => ({
    path,
    type: "file" as const,
    mode: 0o644,
    size: Buffer.byteLength(body),
    content: () => Readable.from([Buffer.from(body)]),
  }));
  return (await store.put(space, "package", packMembers(members), { maxBytes: 1e9 })).digest;
}

async function stage(
  files: Record<string, string>,
  more: {
    limits?: Partial<StagingJob["limits"]>;
    request?: Partial<StagingJob["request"]>;
    signal?: AbortSignal;
    isLeader?: () => boolean;
    work?: string;
    uid?: string;
  } = {},
): Promise<StagedDroplet> {
  return runStaging({
    store,
    space,
    uid: more.uid ?? "uid-1",
    source: { digest: await packageOf(files) },
    workDir: more.work ?? work(),
    root: root(),
    compileCache: join(directory, "compile-cache"),
    isLeader: more.isLeader ?? (() => true),
    request: {
      cache: join(directory, "cache"),
      stack: "host",
      user: {},
      buildpacks: bundledBuildpacks.map(bundledFolder),
      detect: true,
      available: [],
      companionBuildpack: bundledFolder("procfile"),
      ...more.request,
    },
    limits: { deadline: Date.now() + 60_000, timeoutSeconds: 60, memoryMB: 1024, diskMB: 1024, ...more.limits },
    log: (_stream, line) => void log.push(line),
    onError: (error) => {
      throw error;
    },
    signal: more.signal ?? new AbortController().signal,
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Launches the web process and returns a function that requests a path from it. */
async function start(processType = "web"): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const port = await freePort();
  const spec = await prepareLaunch({ root: root(), processType, env: { ...hostEnvironment(), PORT: String(port) } });
  const [file = "", ...args] = spec.command;
  const child = spawn(file, args, { cwd: spec.cwd, env: spec.env, detached: true, stdio: "ignore" });
  groups.push(child.pid ?? 0);
  const deadline = Date.now() + 10_000;
  const ask = async (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual", signal: AbortSignal.timeout(5000), ...init });
  for (;;) {
    const up = await ask("/").then(
      () => true,
      () => false,
    );
    if (up) return ask;
    if (Date.now() > deadline) throw new Error("the app did not come up");
    await delay(20);
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error("the condition did not hold within 10 s");
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
const server = `require("http").createServer((q, r) => r.end(require("greet")(process.env.NODE_ENV))).listen(process.env.PORT)`;

test("a Node app with its modules is built, unpacked elsewhere, started and answers", async () => {
  const files = {
    "package.json": JSON.stringify({
      scripts: { start: "node server.js" },
      dependencies: { greet: "1" },
      engines: { node: ">=4" },
    }),
    "server.js": server,
    "node_modules/greet/index.js": "module.exports = (e) => `hello ${e}`",
    Procfile: "worker: node worker.js\n",
  };
  const staged = await stage(files);
  expect(toProcessTypes(staged.metadata)).toEqual({ web: "node server.js", worker: "node worker.js" });
  expect(log.join("\n")).toMatch(/Node\.js \S+ \(the builder's own\)/);
  expect(log.join("\n")).toMatch(/node_modules that came with the app/);
  expect(await exists(work())).toBe(false);
  await rm(root(), { recursive: true });
  const droplet = { space, digest: staged.digest, root: root() };
  await Promise.all([1, 2, 3].map(() => restoreDroplet(store, droplet, dirname(root()))));
  expect((await readdir(dirname(root()))).sort()).toEqual([".owner-b1", "b1"]);
  const ask = await start();
  expect(await (await ask("/")).text()).toBe("hello production");
});

test("the Procfile's web wins over package.json", async () => {
  const staged = await stage({
    "package.json": JSON.stringify({ scripts: { start: "node a.js" } }),
    Procfile: "# comment\nweb: node b.js\n",
  });
  expect(toProcessTypes(staged.metadata)).toEqual({ web: "node b.js" });
});

test("a static site serves its files and nothing else", async () => {
  const staged = await stage({
    Staticfile: "root: site\npushstate: enabled\nssi: enabled\n",
    "site/index.html": "<h1>home</h1>",
    "site/a/index.html": "a",
    "site/style.css": "x{}",
    "site/.secret": "no",
    "secret.txt": "no",
  });
  expect(log.join("\n")).toContain("ssi in the Staticfile is not supported");
  expect(toProcessTypes(staged.metadata)["web"]).toMatch(/^node .*server\.mjs .*\/app\/site$/);
  const ask = await start();
  const page = await ask("/");
  expect([page.status, page.headers.get("content-type"), await page.text()]).toEqual([
    200,
    "text/html; charset=utf-8",
    "<h1>home</h1>",
  ]);
  expect((await ask("/style.css")).headers.get("content-type")).toMatch(/^text\/css/);
  expect((await ask("/a")).headers.get("location")).toBe("/a/");
  expect(await (await ask("/some/route")).text()).toBe("<h1>home</h1>");
  for (const path of [
    "/.secret",
    "/..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/a/..%2f..%2f..%2fsecret.txt",
    "/%zz",
    "//secret.txt",
  ])
    expect(await (await ask(path)).text(), path).not.toBe("no");
  expect((await ask("/", { method: "POST" })).status).toBe(405);
});

test("a directory without Staticfile: 404 for a missing file", async () => {
  await stage({ "index.html": "home", "404.html": "lost" });
  const ask = await start();
  const lost = await ask("/nothing");
  expect([lost.status, await lost.text()]).toEqual([404, "lost"]);
});

/** A buildpack whose bin/build is the shell script `build`. */
async function shellBuildpack(build: string): Promise<string> {
  const folder = join(directory, "bp");
  await mkdir(join(folder, "bin"), { recursive: true });
  await writeFile(
    join(folder, "buildpack.toml"),
    `api = "0.12"\n[buildpack]\nid = "test/shell"\nversion = "1.0.0"\n[[stacks]]\nid = "*"\n`,
  );
  for (const [name, body] of [
    ["detect", "exit 0"],
    ["build", build],
  ] as const)
    await writeFile(join(folder, "bin", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return folder;
}

test.each<{ what: string; build: string; limits: Partial<StagingJob["limits"]>; code: string; message: RegExp }>([
  {
    what: "time",
    build: "sleep 100",
    limits: { deadline: Date.now(), timeoutSeconds: 7 },
    code: "StagingTimeExpired",
    message: /longer than 7 s/,
  },
  {
    what: "memory",
    build: `exec node -e 'const a=[]; setInterval(() => a.push(Buffer.alloc(5e7, 1)), 20)'`,
    limits: { memoryMB: 400 },
    code: "InsufficientResources",
    message: /more than its 400 MB of memory/,
  },
  {
    what: "disk",
    build: "head -c 30000000 /dev/zero > big; sleep 100",
    limits: { diskMB: 20 },
    code: "InsufficientResources",
    message: /more than its 20 MB of disk/,
  },
])("a build that takes too much $what is ended", async ({ build, limits, code, message }) => {
  const folder = await shellBuildpack(build);
  await expect(stage({ a: "x" }, { limits, request: { buildpacks: [folder], detect: false } })).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }),
  );
  expect([await exists(work()), await exists(root())]).toEqual([false, false]);
});

test("a cache that holds more than a build may write goes with the build, and that is said", async () => {
  const cache = join(directory, "cache");
  await mkdir(cache);
  await writeFile(join(cache, "large"), Buffer.alloc(3e7));
  const folder = await shellBuildpack("head -c 30000000 /dev/zero > big; sleep 100");
  const building = stage({ a: "x" }, { limits: { diskMB: 20 }, request: { buildpacks: [folder], detect: false } });
  await expect(building).rejects.toThrow(/more than its 20 MB of disk/);
  expect(log.at(-1)).toMatch(/held more than 20 MB, so the next build begins without them/);
  expect(await exists(cache)).toBe(false);
});

test("processes that a build leaves running end with it, and its environment has no variable of the platform", async () => {
  process.env["PLATFORM_TOKEN"] = "leak";
  try {
    await stage(
      { a: "x" },
      {
        request: {
          buildpacks: [
            await shellBuildpack(
              `sleep 300 & echo "left $!"; setsid sh -c 'echo "left $$"; exec sleep 300' & sleep 0.2; env`,
            ),
          ],
          detect: false,
          user: { MINE: "1" },
        },
      },
    );
  } finally {
    delete process.env["PLATFORM_TOKEN"];
  }
  const pids = log.filter((line) => line.startsWith("left ")).map((line) => Number(line.slice(5)));
  expect(pids).toHaveLength(process.platform === "linux" ? 2 : 1);
  expect(log).toContain("MINE=1");
  expect(log.join("\n")).not.toMatch(/PLATFORM_TOKEN|NODE_CHANNEL_FD/);
  for (const pid of pids) await until(async () => (await findProcess(pid)) === undefined);
});

test("an aborted build is killed, and so is one that an earlier run left", async () => {
  const abort = new AbortController();
  const folder = await shellBuildpack("echo ready; sleep 300");
  const running = stage({ a: "x" }, { signal: abort.signal, request: { buildpacks: [folder], detect: false } });
  const ended = expect(running).rejects.toThrow("given up");
  await until(() => Promise.resolve(log.includes("ready")));
  abort.abort(new Error("given up"));
  await ended;

  const orphan = spawn("sh", ["-c", "sleep 300 & sleep 300"], { detached: true, stdio: "ignore" });
  const pgid = orphan.pid ?? 0;
  groups.push(pgid);
  await mkdir(work(), { recursive: true });
  await mkdir(join(root(), "app"), { recursive: true });
  await writeFile(
    join(work(), groupLeaderFile),
    JSON.stringify({ pid: pgid, identity: (await findProcess(pgid))?.identity }),
  );
  await removeOrphanedBuilds({ stagingDir: dirname(work()), dropletsDir: dirname(root()), isLeader: () => true });
  await until(async () => listMembers(await readProcesses(), pgid).length === 0);
  expect([await exists(work()), await exists(root())]).toEqual([false, false]);
});

describe("a builder that is no longer the leader", () => {
  const [mine, another] = ["b1.00000001", "b1.00000002"].map((name) => () => join(directory, "staging", name)) as [
    () => string,
    () => string,
  ];
  /** The next leader removes this one's directories and builds the same Staging. */
  function overtake(): number {
    rmSync(mine(), { recursive: true, force: true });
    for (const path of [join(another(), "tmp"), root()]) mkdirSync(path, { recursive: true });
    writeFileSync(join(root(), "next"), "");
    const { pid = 0 } = spawn("sleep", ["300"], {
      detached: true,
      stdio: "ignore",
      env: { ...hostEnvironment(), TMPDIR: join(another(), "tmp") },
    });
    groups.push(pid);
    return pid;
  }

  /** True until `then` holds at a check; right after that check the process is paused beyond its Lease. */
  function standsStill(then: () => boolean): () => boolean {
    let leads = true;
    return () => {
      if (!leads) return false;
      leads = !then();
      if (!leads) overtake();
      return true;
    };
  }

  test.each<[string, () => boolean]>([
    ["before it began", () => true],
    ["before it cleaned up", () => log.includes("ready")],
  ])("paused %s, leaves the directories of the next leader alone", async (_when, then) => {
    await expect(
      stage(
        { a: "x" },
        {
          work: mine(),
          isLeader: standsStill(then),
          request: { buildpacks: [await shellBuildpack("echo ready; exit 1")], detect: false },
        },
      ),
    ).rejects.toThrow();
    expect([await exists(mine()), await exists(another()), await exists(join(root(), "next"))]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test("leaves the processes and directories of the next leader alone", async () => {
    let leads = true;
    const running = stage(
      { a: "x" },
      {
        work: mine(),
        isLeader: () => leads,
        request: { buildpacks: [await shellBuildpack("echo ready; sleep 300")], detect: false },
      },
    );
    const ended = expect(running).rejects.toThrow();
    await until(() => Promise.resolve(log.includes("ready")));
    leads = false;
    const leader = JSON.parse(await readFile(join(mine(), groupLeaderFile), "utf8")) as { pid: number };
    const pid = overtake();
    trySignal(-leader.pid, "SIGKILL");
    await ended;
    expect(await findProcess(pid)).toBeDefined();
    expect([await exists(another()), await exists(join(root(), "next"))]).toEqual([true, true]);
  });

  test("starts no build", async () => {
    overtake();
    await expect(stage({ a: "x" }, { work: mine(), isLeader: () => false })).rejects.toThrow("no longer the leader");
    expect([await exists(mine()), await exists(join(root(), "next"))]).toEqual([false, true]);
  });

  test("cleans up when it stops", async () => {
    let leads = true;
    const abort = new AbortController();
    const running = stage(
      { a: "x" },
      {
        signal: abort.signal,
        isLeader: () => leads,
        request: { buildpacks: [await shellBuildpack("echo ready; sleep 300")], detect: false },
      },
    );
    const ended = expect(running).rejects.toThrow("the end");
    await until(() => Promise.resolve(log.includes("ready")));
    leads = false;
    abort.abort(new Error("the end"));
    await ended;
    expect([await exists(work()), await exists(root())]).toEqual([false, false]);
  });
});

test("a failed build that removed its own work directory leaves nothing", async () => {
  const folder = await shellBuildpack(`rm -rf ${work()}; exit 1`);
  await expect(stage({ a: "x" }, { request: { buildpacks: [folder], detect: false } })).rejects.toThrow();
  expect([await exists(work()), await exists(root())]).toEqual([false, false]);
});

test("a build ends with the platform's process, also after kill -9", async () => {
  const content = await packageOf({ a: "x" });
  const folder = await shellBuildpack("echo ready; sleep 300");
  const job = {
    space,
    uid: "uid-1",
    source: { digest: content },
    workDir: work(),
    root: root(),
    compileCache: join(directory, "compile-cache"),
    request: {
      cache: join(directory, "cache"),
      stack: "host",
      user: {},
      buildpacks: [folder],
      detect: false,
      available: [],
      companionBuildpack: bundledFolder("procfile"),
    },
    limits: { deadline: Date.now() + 60_000, timeoutSeconds: 60, memoryMB: 1024, diskMB: 1024 },
  };
  const platform = `
    const { createDirectoryStore } = await import(${JSON.stringify(new URL("../../../blobs/directory/directory-store.ts", import.meta.url).href)});
    const { runStaging } = await import(${JSON.stringify(new URL("staging-job.ts", import.meta.url).href)});
    const store = await createDirectoryStore(${JSON.stringify(join(directory, "blobs"))});
    await runStaging({ ...${JSON.stringify(job)}, store, log: (_, line) => console.log(line), onError: console.error, isLeader: () => true, signal: new AbortController().signal });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", platform], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk: Buffer) => chunk.includes("ready") && resolve()),
  );
  const { pid } = JSON.parse(await readFile(join(work(), groupLeaderFile), "utf8")) as { pid: number };
  expect(listMembers(await readProcesses(), pid).length).toBeGreaterThan(1);
  child.kill("SIGKILL");
  await until(async () => listMembers(await readProcesses(), pid).length === 0);
});

test("a build whose root holds another build's droplet is refused, and the droplet stays", async () => {
  const staged = await stage({ "index.html": "mine" });
  await expect(stage({ "index.html": "theirs" }, { uid: "uid-2" })).rejects.toThrow(/belongs to another droplet/);
  expect(await readFile(join(root(), "app", "index.html"), "utf8")).toBe("mine");
  await restoreDroplet(store, { space, digest: staged.digest, root: root() }, dirname(root()));
  // A droplet that is older than records is not removed, either.
  await releaseRoot(root());
  await expect(stage({ "index.html": "theirs" }, { uid: "uid-2" })).rejects.toThrow(/belongs to another droplet/);
  expect(await readFile(join(root(), "app", "index.html"), "utf8")).toBe("mine");
});

test("a Staging that is built again after a crash reclaims its root, and a failed one releases it", async () => {
  await stage({ "index.html": "first" });
  await stage({ "index.html": "second" });
  expect(await readFile(join(root(), "app", "index.html"), "utf8")).toBe("second");
  await expect(stage({ a: "x" }, { limits: { deadline: 0 } })).rejects.toThrow();
  expect(await readdir(dirname(root()))).toEqual([]);
});

test("no droplet is unpacked in the root of a build that is running", async () => {
  const staged = await stage({ "index.html": "mine" });
  const folder = await shellBuildpack("echo ready; sleep 300");
  const stop = new AbortController();
  const building = stage({ a: "x" }, { request: { buildpacks: [folder], detect: false }, signal: stop.signal });
  const ended = expect(building).rejects.toThrow();
  await until(() => Promise.resolve(log.includes("ready")));
  await expect(restoreDroplet(store, { space, digest: staged.digest, root: root() }, dirname(root()))).rejects.toThrow(
    /belongs to another droplet/,
  );
  stop.abort(new Error("enough"));
  await ended;
});

test("a droplet with a root outside the droplets folder is not unpacked", async () => {
  for (const other of [
    "/etc",
    join(directory, "droplets", "a", "b"),
    join(directory, "droplets", "..", "x"),
    join(directory, "droplets", ".x"),
  ]) {
    await expect(
      restoreDroplet(store, { space, digest: `sha256:${"0".repeat(64)}`, root: other }, join(directory, "droplets")),
    ).rejects.toThrow(/restage the app/);
  }
});
