// An operator's settings and a developer's view of them, by stock cf in one sitting: variable groups, an uploaded buildpack, a sidecar, a task, limits,
// usage, packages, a quota, events, security groups. By name, since the parts have tests of their own: `npm run e2e -- --on node operators-day`.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { openZip } from "../../blobs/archive/zip.ts";
import { LABELS } from "../../crds/labels.ts";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

/** On a machine that does many other things. */
const SLOW_MS = 180_000;

/** Fits an app with a file `mark`, and gives it what the staging group says. */
const BUILDPACK = {
  "buildpack.toml": 'api = "0.10"\n[buildpack]\nid = "me/mark"\nversion = "1.0.0"\n[[targets]]\nos = "linux"\n',
  "bin/detect": "#!/bin/sh\ntest -f mark || exit 100\n",
  "bin/build": `#!/bin/sh
set -e
mkdir -p "$CNB_LAYERS_DIR/mark/env.launch"
printf "%s" "$FROM_STAGING" > "$CNB_LAYERS_DIR/mark/env.launch/MARKED.override"
printf '[types]\\nlaunch = true\\n' > "$CNB_LAYERS_DIR/mark.toml"
echo "the mark is $FROM_STAGING"
`,
};
const APP = {
  mark: "",
  ".profile": "export FROM_PROFILE=profile\n",
  // Larger than what resource matching leaves out.
  "large.txt": "large ".repeat(20_000),
  // Instances share a laptop.
  "port.js": "module.exports = 30000 + (Number(process.env.PORT) % 30000);\n",
  "beside.js": `require("http").createServer((_, s) => s.end("beside")).listen(require("./port.js"), "127.0.0.1");\n`,
  "server.js": `const { FROM_RUNNING: run, FROM_PROFILE: profile, MARKED: marked, PORT } = process.env;
let away = 0;
require("http").createServer(async (q, s) => {
  if (q.url === "/end") process.exit(3);
  if (q.url === "/shout") for (let line = 0; line < 8; line++) console.log("loud ".repeat(200));
  if (q.url === "/leave") away = Date.now() + 20000;
  if (q.url === "/in-service") return s.writeHead(Date.now() < away ? 503 : 200).end();
  const side = await fetch("http://127.0.0.1:" + require("./port.js")).then((a) => a.text(), String);
  s.end(JSON.stringify({ run, profile, marked, side }));
}).listen(PORT);\n`,
};
const MANIFEST = {
  applications: [
    {
      name: "day",
      memory: "160M",
      "log-rate-limit-per-second": "2K",
      buildpacks: ["mark_buildpack", "nodejs_buildpack"],
      // By a shell, which reads `.profile` before it.
      command: "node server.js",
      "readiness-health-check-type": "http",
      "readiness-health-check-http-endpoint": "/in-service",
      "readiness-health-check-interval": 2,
      sidecars: [{ name: "beside", process_types: ["web"], command: "node beside.js", memory: "64M" }],
    },
  ],
};

interface UsageEvent {
  app: { name: string | null };
  task: { name: string | null };
  state: { current: string };
  instance_count: { current: number };
}

interface Gauge {
  metrics: Record<string, { unit: string; value: number } | undefined>;
}

async function listZip(file: string): Promise<string[]> {
  const zip = await openZip(file);
  zip.close();
  return zip.members.map(({ path }) => path);
}

const reason = whyNoCf();
if (reason) console.log(`an operator's day skipped: ${reason}`);

describe.skipIf(reason)("an operator's day", { timeout: 600_000 }, () => {
  let stage: TestPlatform;
  let run: (...args: string[]) => Promise<CommandResult>;
  let folder: string;

  async function cf(...args: string[]): Promise<string> {
    const { code, output } = await run(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }
  function write(name: string, files: Readonly<Record<string, string>>): string {
    for (const [path, text] of Object.entries(files)) {
      const file = join(stage.home, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { mode: 0o755 });
    }
    return join(stage.home, name);
  }

  beforeAll(async () => {
    stage = await startTestPlatform({ metricsServer: true });
    run = cfOn(stage);
    await cf("api", stage.url);
    await cf("auth", "admin");
    await cf("target", "-o", "local", "-s", "dev");
    folder = write("day", { ...APP, "manifest.yml": stringify(MANIFEST) });
  });
  afterAll(() => stage?.stop());

  test("variable groups are in the build and in the app, beside an uploaded buildpack, a sidecar and .profile", async () => {
    await cf("set-running-environment-variable-group", '{"FROM_RUNNING":"running"}');
    await cf("set-staging-environment-variable-group", '{"FROM_STAGING":"staged"}');
    await cf("create-buildpack", "mark_buildpack", write("mark", BUILDPACK), "1");
    expect(await cf("buildpacks")).toMatch(/^1\s+mark_buildpack\s/m);
    await cf("push", "-f", join(folder, "manifest.yml"), "-p", folder);
    await eventually(async () => expect(await cf("logs", "day", "--recent")).toContain("the mark is staged"), SLOW_MS);
    await eventually(async () => {
      const { status, body } = await stage.get("day.apps.localhost");
      expect([status, body]).toEqual([
        200,
        JSON.stringify({ run: "running", profile: "profile", marked: "staged", side: "beside" }),
      ]);
    }, SLOW_MS);
    expect(await cf("app", "day")).toMatch(/sidecars:\s+beside/);
  });

  test("a task has the running group, and its lines are the app's", async () => {
    await cf("run-task", "day", "--name", "once", "--command", "echo task says $FROM_RUNNING", "--wait");
    expect(await cf("tasks", "day")).toMatch(/once\s+SUCCEEDED/);
    await eventually(
      async () => expect(await cf("logs", "day", "--recent")).toMatch(/\[APP\/TASK\/once\/0\]\s+OUT task says running/),
      SLOW_MS,
    );
  });

  test("lines beyond the log rate limit are left out, and the app's log says so", async () => {
    expect((await stage.get("day.apps.localhost", "/shout")).status).toBe(200);
    await eventually(async () => {
      const log = await cf("logs", "day", "--recent");
      expect(log).toContain("app instance exceeded log rate limit (2048 bytes/sec)");
      // Two of eight lines fit into a second, and they may fall into two.
      expect(log.match(/\bloud\b/g)?.length ?? 0).toBeLessThanOrEqual(4 * 200);
    }, SLOW_MS);
  });

  test("a task's lines beyond its log rate limit are left out, too", async () => {
    const program = 'for (let line = 0; line < 8; line++) console.log("noisy ".repeat(200))';
    await cf("run-task", "day", "--name", "noisy", "-l", "2K", "--command", `node -e '${program}'`, "--wait");
    await eventually(async () => {
      const lines = (await cf("logs", "day", "--recent"))
        .split("\n")
        .filter((line) => line.includes("[APP/TASK/noisy/0]"));
      expect(lines.join("\n")).toContain("exceeded log rate limit (2048 bytes/sec)");
      expect(lines.filter((line) => line.includes("noisy noisy")).length).toBeLessThanOrEqual(4);
    }, SLOW_MS);
  });

  test("memory and CPU of an instance are in cf app, in its gauges, and on a cluster in kubectl top", async () => {
    await eventually(
      async () => expect(await cf("app", "day")).toMatch(/#0\s+running\s+\S+\s+\d+\.\d%\s+[1-9][\d.]*[KM] of 160M/),
      SLOW_MS,
    );
    const guid = (await cf("app", "day", "--guid")).trim();
    await eventually(async () => {
      const answer = await cf("curl", `/api/v1/read/${guid}?envelope_types=GAUGE&descending=true`);
      const { envelopes } = JSON.parse(answer) as { envelopes: { batch: { gauge: Gauge }[] } };
      const { cpu, memory } = envelopes.batch[0]?.gauge.metrics ?? {};
      expect([cpu?.unit, memory?.unit]).toEqual(["percentage", "bytes"]);
      expect(memory?.value).toBeGreaterThan(2 ** 20);
    }, SLOW_MS);
    if (stage.on !== "node") return;
    const { code, output } = await stage.kubectl("top", "pods", "-n", "local-dev", "-l", LABELS.lrp);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^day\S*\s+\d+m\s+\d+Mi/m);
  });

  test("a package is downloaded as it was pushed, copied to another app, and its large files are not sent again", async () => {
    const curl = async <T>(...args: string[]): Promise<T> => JSON.parse(await cf("curl", ...args)) as T;
    const guid = (await cf("app", "day", "--guid")).trim();
    const { resources: packages } = await curl<{ resources: { guid: string }[] }>(`/v3/packages?app_guids=${guid}`);
    const source = packages[0]!.guid;
    const zip = join(stage.home, "package.zip");
    await cf("curl", `/v3/packages/${source}/download`, "--output", zip);
    const names = await listZip(zip);
    expect(names).toEqual(expect.arrayContaining([".profile", "large.txt", "server.js"]));
    await cf("create-app", "copy");
    const data = { guid: (await cf("app", "copy", "--guid")).trim() };
    const body = JSON.stringify({ relationships: { app: { data } } });
    const copy = await curl<{ guid: string }>("-X", "POST", `/v3/packages?source_guid=${source}`, "-d", body);
    await eventually(
      async () => expect(await curl(`/v3/packages/${copy.guid}`)).toMatchObject({ state: "READY" }),
      SLOW_MS,
    );
    const known = createHash("sha1").update(APP["large.txt"]).digest("hex");
    const resource = {
      checksum: { value: known },
      size_in_bytes: APP["large.txt"].length,
      path: "large.txt",
      mode: "644",
    };
    const asked = JSON.stringify({ resources: [resource] });
    expect(await curl("-X", "POST", "/v3/resource_matches", "-d", asked)).toMatchObject({ resources: [resource] });
    await cf("delete", "copy", "-f");
  });

  test("a quota of the space refuses what is too much, early", async () => {
    await cf("create-space-quota", "tiny", "-m", "300M");
    await cf("set-space-quota", "dev", "tiny");
    const { code, output } = await run("scale", "day", "-i", "3");
    expect([code, output]).toEqual([1, expect.stringContaining("memory space_quota_exceeded")]);
    await cf("unset-space-quota", "dev", "tiny");
    await cf("scale", "day", "-i", "2");
    await eventually(async () => expect(await cf("app", "day")).toMatch(/instances:\s+2\/2/), SLOW_MS);
    await cf("delete-space-quota", "tiny", "-f");
  });

  test("an instance that leaves service and returns is told by events, and so is one that was replaced", async () => {
    const tells = (type: string): Promise<void> =>
      eventually(async () => expect(await cf("events", "day")).toMatch(new RegExp(`${type}\\s`)), SLOW_MS);
    await eventually(async () => expect(await cf("app", "day")).toMatch(/instances:\s+2\/2/), SLOW_MS);
    await eventually(async () => expect((await stage.get("day.apps.localhost", "/leave")).status).toBe(200), SLOW_MS);
    await tells("audit.app.process.not-ready");
    await tells("audit.app.process.ready");
    if (stage.on === "laptop") return;
    const instance = `${LABELS.lrp},${LABELS.instanceIndex}=0`;
    const { code, output } = await stage.kubectl("delete", "pods", "-n", "local-dev", "-l", instance, "--wait=false");
    expect(code, output).toBe(0);
    await tells("audit.app.process.rescheduling");
  });

  test("events say who did what, and how an instance ended", async () => {
    await stage.get("day.apps.localhost", "/end").catch(() => undefined);
    await eventually(async () => {
      const events = await cf("events", "day");
      for (const type of [
        "audit.app.create",
        "audit.app.process.scale",
        "audit.app.task.create",
        "audit.app.process.crash",
      ])
        expect(events).toContain(type);
      expect(events).toMatch(/audit\.app\.create\s+admin/);
    }, SLOW_MS);
  });

  test("usage events say what ran, and how many instances of it", async () => {
    const path = "/v3/app_usage_events?per_page=5000";
    await eventually(async () => {
      const { resources } = JSON.parse(await cf("curl", path)) as { resources: UsageEvent[] };
      const own = resources.filter(({ app, task }) => app.name === "day" || task.name === "once");
      const told = own.map(({ state, instance_count: count }) => `${state.current} ${count.current}`);
      expect(told).toEqual(expect.arrayContaining(["STARTED 1", "STARTED 2", "TASK_STARTED 1", "TASK_STOPPED 1"]));
    }, SLOW_MS);
  });

  test("a security group is shown, and on a cluster a rule of the space's network", async () => {
    const rules = JSON.stringify([{ protocol: "tcp", destination: "203.0.113.0/24", ports: "443" }]);
    await cf("create-security-group", "partner", join(write("rules", { "rules.json": rules }), "rules.json"));
    await cf("bind-security-group", "partner", "local", "--space", "dev");
    expect(await cf("security-group", "partner")).toMatch(/local\s+dev/);
    if (stage.on !== "laptop")
      await eventually(async () => {
        const { output } = await stage.kubectl("get", "networkpolicies", "-n", "local-dev", "-o", "yaml");
        expect(output).toContain("203.0.113.0/24");
      }, SLOW_MS);
    await cf("delete-security-group", "partner", "-f");
  });

  test("what was set is taken back", async () => {
    await cf("set-running-environment-variable-group", "{}");
    await cf("set-staging-environment-variable-group", "{}");
    await cf("delete", "day", "-f", "-r");
    await cf("delete-buildpack", "mark_buildpack", "-f");
    expect(await cf("buildpacks")).not.toContain("mark_buildpack");
  });
});
