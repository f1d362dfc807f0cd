// An operator's limits as people meet them, by stock cf: a release command, revisions, quotas, a suspended org, roles, isolation segments, feature flags.
// By name, since the parts have tests of their own: `npm run e2e -- --on node operators-limits`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { layGround, type Ground } from "./cf/support/ground.ts";
import type { Who } from "./cf/support/who.ts";
import { whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

/** On a machine that does many other things. */
const SLOW_MS = 180_000;
const HOST = "limits.apps.localhost";
const NAMESPACE = "acme-dev";
const FORBIDDEN = "You are not authorized to perform the requested action";

const SERVER = `const answer = process.env.GREETING ?? "first";
require("http").createServer((_, s) => s.end(answer)).listen(process.env.PORT);\n`;
const PROCFILE = "web: node server.js\nrelease: node release.js\n";

const reason = whyNoCf();
if (reason) console.log(`an operator's limits skipped: ${reason}`);

describe.skipIf(reason)("an operator's limits", { timeout: 600_000 }, () => {
  let stage: TestPlatform;
  let ground: Ground;
  const homes = new Map<Who, string>();

  function run(who: Who, ...args: string[]): Promise<CommandResult> {
    const home = homes.get(who) ?? ground.newHome(who, join(stage.home, `home-${who}`));
    homes.set(who, home);
    return ground.runCf(home, { args, cwd: stage.home });
  }
  async function cf(who: Who, ...args: string[]): Promise<string> {
    const { code, output } = await run(who, ...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }
  async function isRefused(who: Who, args: readonly string[], text: string): Promise<void> {
    const { code, output } = await run(who, ...args);
    expect([code, output], `cf ${args.join(" ")}`).toEqual([1, expect.stringContaining(text)]);
  }
  async function canI(who: Who, verb: string, resource: string): Promise<string> {
    const { output } = await stage.kubectl(
      ...["auth", "can-i", verb, resource, "-n", NAMESPACE, "--as", ground.users[who]],
    );
    return output.trim();
  }
  function writeSource(release: string): string {
    const folder = join(stage.home, "source");
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries({ "server.js": SERVER, "release.js": release, Procfile: PROCFILE }))
      writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "package.json"), '{"name":"limits","version":"1.0.0"}\n');
    return folder;
  }
  const answers = (text: string): Promise<void> =>
    eventually(async () => {
      const { status, body } = await stage.get(HOST);
      expect([status, body]).toEqual([200, text]);
    }, SLOW_MS);

  beforeAll(async () => {
    stage = await startTestPlatform();
    ground = await layGround(stage);
  });
  afterAll(() => stage?.stop());

  test("the release command runs as a task before the first version", async () => {
    await cf("developer", "push", "limits", "-p", writeSource('console.log("migrated");\n'), "-m", "128M");
    await answers("first");
    expect(await cf("developer", "tasks", "limits")).toMatch(/release\s+SUCCEEDED/);
    await eventually(
      async () =>
        expect(await cf("developer", "logs", "limits", "--recent")).toMatch(/\[APP\/TASK\/release\/0\].*migrated/),
      SLOW_MS,
    );
  });

  test("a rollback brings the revision before back", async () => {
    await cf("developer", "set-env", "limits", "GREETING", "second");
    await cf("developer", "restart", "limits");
    await answers("second");
    expect(await cf("developer", "revisions", "limits")).toMatch(/\d\(deployed\)\s+New environment variables/);
    await cf("developer", "rollback", "limits", "--version", "1", "-f");
    await answers("first");
  });

  test("the quota of an org refuses instances, memory, routes and tasks beyond it, and its usage is told", async () => {
    await cf("admin", "create-org-quota", "small", "-m", "256M", "-i", "192M", "-a", "2", "-r", "2");
    await cf("admin", "set-org-quota", "acme", "small");
    await isRefused("developer", ["scale", "limits", "-i", "3"], "memory quota_exceeded");
    await isRefused("developer", ["scale", "limits", "-i", "3"], "app_instance_limit app_instance_limit_exceeded");
    await isRefused("developer", ["scale", "limits", "-m", "200M", "-f"], "memory instance_memory_limit_exceeded");
    const task = ["run-task", "limits", "--command", "true", "-m", "192M"];
    await isRefused("developer", task, "memory_in_mb exceeds organization memory quota");
    await cf("developer", "create-route", "apps.localhost", "-n", "within");
    const route = ["create-route", "apps.localhost", "-n", "beyond"];
    await isRefused("developer", route, "Routes quota exceeded for organization 'acme'.");
    const usage = JSON.parse(await cf("admin", "curl", `/v3/organizations/${ground.orgGUID}/usage_summary`)) as object;
    expect(usage).toMatchObject({ usage_summary: { started_instances: 1, memory_in_mb: 128, routes: 2 } });
    await cf("developer", "delete-route", "apps.localhost", "-n", "within", "-f");
    await cf("admin", "set-org-quota", "acme", "default");
    await cf("admin", "delete-org-quota", "small", "-f");
    await answers("first");
  });

  test("the quota of a space refuses the second instance, and lets it start once it is taken away", async () => {
    await cf("org-manager", "create-space-quota", "tight", "-a", "1");
    await cf("org-manager", "set-space-quota", "dev", "tight");
    await isRefused("developer", ["scale", "limits", "-i", "2"], "space_app_instance_limit_exceeded");
    await cf("org-manager", "unset-space-quota", "dev", "tight");
    await cf("org-manager", "delete-space-quota", "tight", "-f");
    await cf("developer", "scale", "limits", "-i", "2");
    await eventually(async () => expect(await cf("developer", "app", "limits")).toMatch(/instances:\s+2\/2/), SLOW_MS);
    await cf("developer", "scale", "limits", "-i", "1");
  });

  test("in a suspended org apps serve on, a developer changes nothing at either door, and an admin does", async () => {
    const suspend = (suspended: boolean): Promise<string> => {
      const body = JSON.stringify({ suspended });
      return cf("admin", "curl", "-X", "PATCH", `/v3/organizations/${ground.orgGUID}`, "-d", body);
    };
    const change = ["set-env", "limits", "SUSPENDED", "no"];
    expect(JSON.parse(await suspend(true))).toMatchObject({ suspended: true });
    await eventually(() => isRefused("developer", change, "suspended"), SLOW_MS);
    const patch = ["-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"state":"Stopped"}}'];
    const byKubectl = await stage.kubectl("patch", "apps.cupola.dev/limits", ...patch, "--as", ground.users.developer);
    expect(byKubectl).toEqual({ code: 1, output: expect.stringContaining("suspended") as string });
    await answers("first");
    await cf("admin", "set-env", "limits", "SUSPENDED", "yes");
    await suspend(false);
    await eventually(() => cf("developer", "unset-env", "limits", "SUSPENDED"), SLOW_MS);
  });

  test("a role lets somebody read, no more, at both doors, until it is taken away", async () => {
    const { nobody } = ground.users;
    await isRefused("nobody", ["app", "limits"], "not found");
    await cf("org-manager", "set-space-role", nobody, "acme", "dev", "SpaceAuditor");
    await eventually(async () => expect(await cf("nobody", "app", "limits")).toMatch(/name:\s+limits/), SLOW_MS);
    await isRefused("nobody", ["stop", "limits"], FORBIDDEN);
    await isRefused("nobody", ["env", "limits"], FORBIDDEN);
    expect([await canI("nobody", "get", "apps.cupola.dev"), await canI("nobody", "update", "apps.cupola.dev")]).toEqual(
      ["yes", "no"],
    );
    await cf("org-manager", "unset-space-role", nobody, "acme", "dev", "SpaceAuditor");
    await eventually(() => isRefused("nobody", ["app", "limits"], "not found"), SLOW_MS);
    expect(await canI("nobody", "get", "apps.cupola.dev")).toBe("no");
  });

  test("apps run in the isolation segment of their space, which the org must be entitled to", async () => {
    await cf("admin", "create-isolation-segment", "apart");
    await isRefused("admin", ["set-space-isolation-segment", "dev", "apart"], "Ensure it has been entitled");
    await cf("admin", "enable-org-isolation", "acme", "apart");
    await cf("admin", "set-space-isolation-segment", "dev", "apart");
    await cf("developer", "restart", "limits");
    await eventually(
      async () => expect(await cf("developer", "app", "limits")).toMatch(/isolation segment:\s+apart/),
      SLOW_MS,
    );
    await answers("first");
    await cf("admin", "reset-space-isolation-segment", "dev");
    await cf("admin", "disable-org-isolation", "acme", "apart");
    await cf("admin", "delete-isolation-segment", "apart", "-f");
  });

  test("a feature flag that is off stops developers at both doors, not admins", async () => {
    await cf("admin", "disable-feature-flag", "app_scaling");
    await eventually(
      () => isRefused("developer", ["scale", "limits", "-i", "2"], "Feature Disabled: app_scaling"),
      SLOW_MS,
    );
    const patch = ["-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"instances":2}}'];
    const { users } = ground;
    const { code, output } = await stage.kubectl(
      ...["patch", "processes.cupola.dev/limits.web", ...patch, "--as", users.developer],
    );
    expect([code, output]).toEqual([1, expect.stringContaining("app_scaling")]);
    await cf("admin", "scale", "limits", "-i", "2");
    await cf("admin", "enable-feature-flag", "app_scaling");
    await eventually(() => cf("developer", "scale", "limits", "-i", "1"), SLOW_MS);
  });

  test("a release command that fails keeps the version before, and cf says why", async () => {
    const folder = writeSource('console.log("broken"); process.exit(7);\n');
    const { code, output } = await run(
      "developer",
      "push",
      "limits",
      "-p",
      folder,
      "-m",
      "128M",
      "--strategy",
      "rolling",
    );
    expect([code, output]).toEqual([1, expect.stringMatching(/release|FAILED/i)]);
    expect(await cf("developer", "tasks", "limits")).toMatch(/release\s+FAILED/);
    await answers("first");
  });
});
