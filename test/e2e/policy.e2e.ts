// An operator's first policy: seen by the audit, then warned about, then refused at every door, with an exception, and taken away again; by stock cf and kubectl.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

const NAMESPACE = "local-dev";
const SENTENCE = "Required labels: needs the label owner (policy owner)";
const SERVER = `require("http").createServer((_, answer) => answer.end("hello")).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
`;

const reason = whyNoCf();
if (reason) console.log(`an operator's first policy skipped: ${reason}`);

describe.skipIf(reason)("an operator's first policy", () => {
  let stage: TestPlatform;
  let cf: (...args: string[]) => Promise<CommandResult>;

  beforeAll(async () => {
    stage = await startTestPlatform({}, { operations: ["webhook"] });
    const folder = join(stage.home, "policy");
    mkdirSync(folder);
    const scripts = { start: "node server.js" };
    const manifest = {
      applications: [
        { name: "shop", memory: "64M" },
        { name: "other", memory: "64M" },
      ],
    };
    writeFileSync(join(folder, "server.js"), SERVER);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "shop", version: "1.0.0", scripts }));
    writeFileSync(join(folder, "manifest.yml"), stringify(manifest));
    cf = cfOn(stage, { cwd: folder });
    await passes("api", stage.url);
    await passes("auth", "admin");
    await passes("target", "-o", "local", "-s", "dev");
    await passes("push", "shop");
    await cup("login", "--api", stage.url, "--user", "admin");
    await cup("target", "--org", "local", "--space", "dev");
  });
  afterAll(() => stage?.stop());

  async function passes(...args: string[]): Promise<string> {
    const { code, output } = await cf(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  async function cup(...args: string[]): Promise<void> {
    const { code, output } = await stage.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  }

  async function isRefused(...args: string[]): Promise<void> {
    const { code, output } = await cf(...args);
    expect([code, output], `cf ${args.join(" ")}\n${output}`).toEqual([1, expect.stringContaining(SENTENCE)]);
  }

  async function kubectl(...args: string[]): Promise<string> {
    const { code, output } = await stage.kubectl(...args);
    expect(code, `kubectl ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  /** Applies the constraint, and waits until it says that it is in force as it stands. */
  async function constrain(action: string, match: object = {}): Promise<void> {
    const spec = {
      match: { spaces: ["local/dev"], ...match },
      parameters: { labels: [{ key: "owner" }] },
      enforcement: { action },
    };
    const file = join(stage.home, "constraint.yaml");
    const apiVersion = "constraints.cupola.dev/v1alpha1";
    writeFileSync(file, stringify({ apiVersion, kind: "RequiredLabels", metadata: { name: "owner" }, spec }));
    await kubectl("apply", "-f", file);
    await eventually(async () => {
      const { metadata, status } = await constraint();
      expect(status).toMatchObject({ observedGeneration: metadata.generation, enforced: true });
    });
  }

  const constraint = async () => JSON.parse(await kubectl("get", "requiredlabels", "owner", "-o", "json"));

  test("in dryrun says who would be hit, and hits nobody", async () => {
    await constrain("dryrun");
    // The space itself violates it as well.
    const shop = { kind: "App", namespace: NAMESPACE, name: "shop", action: "dryrun" };
    await eventually(async () => {
      const { totalViolations, violations } = (await constraint()).status;
      expect([totalViolations, violations]).toEqual([2, expect.arrayContaining([expect.objectContaining(shop)])]);
    });
    expect(await passes("create-app", "quiet")).not.toContain(SENTENCE);
  });

  test("is shown to the space's people on their app and their space, by cup and kubectl", async () => {
    const shown = { constraint: "RequiredLabels/owner", action: "dryrun", kind: "App", name: "shop" };
    await eventually(async () =>
      expect(await stage.cupJson("app", "shop")).toMatchObject({ policy_violations: [shown] }),
    );
    expect((await stage.cup("app", "shop")).output).toMatch(
      /^dryrun +App\/shop +Required labels: .* \(policy owner\)$/m,
    );
    expect(await kubectl("describe", "app", "shop", "-n", NAMESPACE)).toContain(SENTENCE);
    // The space breaks the rule as well.
    expect((await stage.cup("space", "dev")).output).toMatch(
      /^dryrun +Space\/dev +Required labels: .* \(policy owner\)$/m,
    );
    expect(await kubectl("describe", "space", "dev", "-n", "local")).toContain(SENTENCE);
  });

  test("warns in cf, and lets the write pass", async () => {
    await constrain("warn");
    await eventually(async () => expect(await passes("push", "shop")).toContain(SENTENCE));
  });

  test("denies a new app at both doors, in the same words, and a manifest as a whole", async () => {
    await constrain("deny");
    await eventually(() => isRefused("create-app", "refused"));
    await isRefused("push", "other");
    expect((await cf("app", "other")).code).toBe(1);
    const app = join(stage.home, "app.yaml");
    const metadata = { name: "by-kubectl", namespace: NAMESPACE };
    writeFileSync(app, stringify({ apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata, spec: {} }));
    // An API server reads its policies once a second.
    await eventually(async () => {
      const { code, output } = await stage.kubectl("create", "--dry-run=server", "-f", app);
      expect([code, output]).toEqual([1, expect.stringContaining(SENTENCE)]);
    });
  });

  test("lets an app that violates it stop, and refuses other changes of it", async () => {
    await passes("stop", "shop");
    await isRefused("start", "shop");
    await isRefused("set-env", "shop", "COLOUR", "blue");
    await passes("set-label", "app", "shop", "owner=ada");
    await passes("start", "shop");
    await isRefused("unset-label", "app", "shop", "owner");
  });

  test("spares what an exception names", async () => {
    await constrain("deny", { except: [{ space: "local/dev", name: "other", reason: "CHG-17" }] });
    await eventually(() => passes("push", "other"));
    await isRefused("create-app", "refused");
  });

  test("opens when it is deleted", async () => {
    await kubectl("delete", "requiredlabels", "owner");
    await eventually(() => passes("create-app", "refused"));
  });

  test("may read other objects: cf is refused, kubectl where a webhook runs, and an app that is started past both waits until the rule allows it", async () => {
    await passes("stop", "other");
    const template = {
      kind: "OneStarted",
      title: "One started",
      subjects: ["App"],
      reads: [{ as: "apps", kind: "App", scope: "space" }],
      rules: [
        {
          expression: "object.spec.state != 'Started' || !refs.apps.exists(a, a.spec.state == 'Started')",
          message: "another app is started",
        },
      ],
    };
    await apply({
      apiVersion: "cupola.dev/v1alpha1",
      kind: "PolicyTemplate",
      metadata: { name: "onestarted" },
      spec: template,
    });
    const match = { spaces: ["local/dev"] };
    await eventually(() =>
      apply({
        apiVersion: "constraints.cupola.dev/v1alpha1",
        kind: "OneStarted",
        metadata: { name: "one" },
        spec: { match },
      }),
    );
    await eventually(async () =>
      expect(JSON.parse(await kubectl("get", "onestarted", "one", "-o", "json")).status).toMatchObject({
        enforced: true,
        by: "StartGate",
      }),
    );
    const { code, output } = await cf("start", "other");
    const sentence = "One started: another app is started (policy one)";
    expect([code, output]).toEqual([1, expect.stringContaining(sentence)]);
    const start = ["patch", "app", "other", "-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"state":"Started"}}'];
    // A laptop has no webhook.
    if (stage.on !== "laptop") {
      const refused = await stage.kubectl(...start);
      expect([refused.code, refused.output]).toEqual([1, expect.stringContaining(`denied the request: ${sentence}`)]);
    }
    await kubectl(...start, "--field-manager=cupola-api");
    await untilReady("other", { status: "False", reason: "PolicyDenied", message: sentence });
    await passes("stop", "shop");
    await untilReady("other", { status: "True" });
    await kubectl("delete", "policytemplate", "onestarted");
  });

  async function apply(object: object): Promise<void> {
    const file = join(stage.home, "object.yaml");
    writeFileSync(file, stringify(object));
    await kubectl("apply", "-f", file);
  }

  const untilReady = (name: string, ready: object): Promise<void> =>
    eventually(async () => {
      const { status } = JSON.parse(await kubectl("get", "app", name, "-n", NAMESPACE, "-o", "json"));
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", ...ready }));
    });
});
