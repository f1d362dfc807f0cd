// Apps in the shapes that people have, as source: pushed, answering, changed, and pushed again by cup and by stock cf.
// `npm run e2e -- sources` pushes all of them; `npm test` one or two of each ecosystem; `npm run e2e -- --on node sources` those that need no registry of packages, to pods.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import type { SourceApp } from "./sources/app.ts";
import { serveBuildpackImage } from "./sources/buildpack-image.ts";
import { provideDebianTools } from "./sources/debian-tools.ts";
import { nodeApps } from "./sources/node-apps.ts";
import { otherApps } from "./sources/other-apps.ts";
import { deleteApp, findMissing, pushApp, writeApp, type PushTime } from "./sources/push-app.ts";
import { pythonApps } from "./sources/python-apps.ts";
import { timeDev } from "./sources/time-dev.ts";
import { idleClock, startTimingProxy, type TimingProxy } from "./sources/timing-proxy.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const isOnNode = chosenPlatformKind() === "node";
const apps = [...nodeApps, ...pythonApps, ...otherApps].filter(({ inPods }) => !isOnNode || inPods);
const isWhole = (process.env["CUPOLA_E2E_NAMES"] ?? "").split(",").includes("sources");
/** Our own part of a second push, in seconds, on a machine that does nothing else. */
const OURS_SECONDS = 5;
/** From a save to the answer, for a small app, on such a machine. A compiler or a slow server takes longer. */
const DEV_SECONDS = 2;
const DEV_APPS = new Set(["express", "bare-server", "static"]);

const noPlace = chosenPlatformKind() === "cluster" ? "sources are built on a laptop or a node" : undefined;
// Before the platform starts: its builds take its PATH. The apps are a list by then, so this is not in beforeAll.
const tools = isWhole && !noPlace && !isOnNode ? await provideDebianTools() : undefined;
if (tools) process.env["PATH"] = `${tools}:${process.env["PATH"] ?? ""}`;

function whySkipped(app: SourceApp): string | undefined {
  // In pods the image has the programs; here, those with which the developer prepares it.
  const missing = isOnNode && !app.prepare ? [] : findMissing(app);
  const why = app.whyMissing ? `: ${app.whyMissing}` : "";
  if (missing.length > 0) return `this machine has no ${missing.join(", ")}${why}`;
  return isWhole || app.inCI ? undefined : "npm run e2e -- sources pushes it";
}

const noCf = whyNoCf();
if (noPlace) console.log(`sources skipped: ${noPlace}`);
else if (noCf) console.log(`cf is left out: ${noCf}`);

test.each([
  ["asks for its build", "/v3/builds", 5],
  ["waits for its package", "/v3/packages/1", 3],
])("cf's own time is that without a request, until it %s", (_, next, seconds) => {
  let now = 0;
  const clock = idleClock(() => now);
  const pass = (passed: number): void => void (now += passed * 1000);
  pass(100);
  clock.begin();
  pass(1);
  clock.asked("GET", "/v3/apps");
  pass(10);
  clock.asked("POST", "/v3/resource_matches");
  clock.answered();
  pass(10);
  clock.answered();
  pass(2);
  expect(clock.ownSeconds()).toBe(3);
  clock.asked("POST", "/v3/packages/1/upload");
  pass(10);
  clock.answered();
  pass(2);
  clock.asked("POST", next);
  clock.answered();
  pass(10);
  clock.asked("GET", "/v3/builds/1");
  expect(clock.ownSeconds()).toBe(seconds);
});

describe.skipIf(noPlace)("apps as source", () => {
  let stage: TestPlatform;
  const rows: string[] = [];
  let proxy: TimingProxy | undefined;

  beforeAll(async () => {
    stage = await startTestPlatform({ languages: true });
    await stage.cupJson("login", "--api", stage.url);
    if (noCf) return;
    const cf = cfOn(stage);
    proxy = isOnNode ? undefined : await startTimingProxy(stage.port);
    for (const command of [
      ["api", proxy?.url ?? stage.url],
      ["auth", "developer"],
      ["target", "-o", "local", "-s", "dev"],
    ]) {
      const { code, output } = await cf(...command);
      expect(code, output).toBe(0);
    }
  });
  afterAll(async () => {
    await stage?.stop();
    await proxy?.close();
    if (tools) rmSync(tools, { recursive: true, force: true });
    console.log(
      [
        "app: first push by cup, second by cup, third by cf; on a node first by cup, second by cf; in brackets ours, and what cf did by itself before it asked for the build",
        ...rows,
      ].join("\n"),
    );
  });

  for (const app of apps) {
    const reason = whySkipped(app);
    test(app.name, { timeout: isOnNode ? 900_000 : 400_000 }, async (context) => {
      if (reason) return context.skip(reason);
      await writeApp(stage, app, "one");
      const first = await pushApp(stage, app, { by: "cup", text: "one" });
      expect(first.output).toMatch(app.says);
      await writeApp(stage, app, "two");
      // A push to pods takes a quarter of a minute.
      const second = await pushApp(stage, app, { by: isOnNode && !noCf ? "cf" : "cup", text: "two" });
      const third = noCf || isOnNode ? undefined : await pushByCf(app);
      rows.push(`${app.name}: ${[first, second, third].flatMap((time) => (time ? [present(time)] : [])).join(", ")}`);
      await deleteApp(stage, app);
      for (const push of isWhole && !isOnNode ? [second, third] : [])
        if (push) expect(push.ours, "seconds of a push again that are ours").toBeLessThan(OURS_SECONDS * busyness());
      return undefined;
    });
  }

  async function pushByCf(app: SourceApp): Promise<PushTime> {
    await writeApp(stage, app, "three");
    return pushApp(stage, app, { by: "cf", text: "three", proxy });
  }

  const small = apps.filter(({ name }) => DEV_APPS.has(name));
  test.skipIf(!isWhole || isOnNode).for(small)("cup dev of $name", { timeout: 400_000 }, async (app, context) => {
    const reason = whySkipped(app);
    if (reason) return context.skip(reason);
    const seconds = await timeDev(stage, app);
    rows.push(
      `cup dev of ${app.name}, from the save to the answer: ${seconds.map((one) => one.toFixed(1)).join(", ")} s`,
    );
    expect(Math.min(...seconds)).toBeLessThan(DEV_SECONDS * busyness());
    return undefined;
  });

  test("several apps in one manifest", { timeout: 400_000 }, async () => {
    const folder = join(stage.home, "several");
    for (const [path, content] of [
      ["manifest.yml", "applications:\n- { name: pages, path: pages }\n- { name: program, path: program }\n"],
      ["pages/index.html", "pages"],
      ["program/server.js", 'require("http").createServer((q, r) => r.end("program")).listen(process.env.PORT);'],
    ] as const) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const { code, output } = await stage.cup("push", "--manifest", join(folder, "manifest.yml"));
    expect(code, output).toBe(0);
    for (const name of ["pages", "program"])
      await eventually(async () => expect((await stage.get(`${name}.apps.localhost`)).body).toBe(name));
  });

  // In pods: test/conformance/backends/cnb.node.test.ts, whose registry they reach.
  test.skipIf(noCf || !isWhole || isOnNode)("stock cf with --lifecycle cnb and a buildpack's image", async () => {
    const folder = join(stage.home, "greeter");
    mkdirSync(folder);
    writeFileSync(join(folder, "greeting.txt"), "greeted");
    const registry = await serveBuildpackImage();
    try {
      const { code, output } = await cfOn(stage, { cwd: folder })(
        ...["push", "greeter", "--lifecycle", "cnb", "-b", `docker://${registry.image}`, "-m", "128M"],
      );
      expect(code, output).toBe(0);
      expect(output).toMatch(/team\/greeter:1 +1\.0\.0 /);
      await eventually(async () => expect((await stage.get("greeter.apps.localhost")).body).toBe("greeted"), 30_000);
    } finally {
      await registry.stop();
    }
  });

  test("a folder that no buildpack fits is answered with the next step", async () => {
    const folder = join(stage.home, "unknown");
    mkdirSync(folder);
    writeFileSync(join(folder, "Cargo.toml"), '[package]\nname = "shop"\n');
    const { code, output } = await stage.cup("push", "unknown", "--path", folder);
    expect(code).toBe(1);
    // The lifecycle of a builder image does not look at what else is there.
    expect(output).toMatch(isOnNode ? /no buildpack fits/ : /it has Cargo.toml, which is a Rust project\. Next: /);
  });
});

/** How many times as long things take for what else the machine does. */
function busyness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

function present({ whole, ours, ofCf }: PushTime): string {
  return `${whole.toFixed(1)} s (${ours.toFixed(1)}${ofCf === undefined ? "" : `; cf ${ofCf.toFixed(1)}`})`;
}
