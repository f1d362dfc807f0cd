// Operator policy by cup, where there is no stock cf: who would be hit, a push that is refused, files judged before, and the end of the rule.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const SENTENCE = "Required labels: needs the label owner that matches ^[a-z]+$ (policy owner-in-dev)";
const CONSTRAINT = "requiredlabels.constraints.cupola.dev/owner-in-dev";

let stage: TestPlatform;
let folder: string;

beforeAll(async () => {
  stage = await startTestPlatform();
  folder = join(stage.home, "site");
  mkdirSync(folder);
  writeFileSync(join(folder, "index.html"), "hello\n");
  writeFileSync(join(folder, "Staticfile"), "");
  for (const args of [
    ["login", "--api", stage.url, "--user", "admin"],
    ["target", "-o", "local", "-s", "dev"],
  ])
    expect((await stage.cup(...args)).code).toBe(0);
  await kubectl("apply", "-f", write("app.yaml", anApp("before", {})));
});
afterAll(() => stage?.stop());

function write(name: string, ...objects: object[]): string {
  const file = join(stage.home, name);
  writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"));
  return file;
}

function anApp(name: string, labels: Record<string, string>): object {
  const metadata = { name, namespace: "local-dev", labels };
  return { apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata, spec: {} };
}

function aConstraint(action: string): object {
  return {
    apiVersion: "constraints.cupola.dev/v1alpha1",
    kind: "RequiredLabels",
    metadata: { name: "owner-in-dev" },
    spec: {
      match: { spaces: ["local/dev"] },
      parameters: { labels: [{ key: "owner", pattern: "^[a-z]+$" }] },
      enforcement: { action },
    },
  };
}

async function kubectl(...args: string[]): Promise<string> {
  const { code, output } = await stage.kubectl(...args);
  expect(code, `kubectl ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

/** Applies the constraint, and waits until it is in force and audited. */
async function enforce(action: string): Promise<void> {
  await kubectl("apply", "-f", write("constraint.yaml", aConstraint(action)));
  await eventually(async () => {
    const status = JSON.parse(await kubectl("get", CONSTRAINT, "-o", "json")) as {
      metadata: { generation: number };
      status?: { observedGeneration?: number; enforced?: boolean; totalViolations?: number };
    };
    expect(status.status).toMatchObject({ observedGeneration: status.metadata.generation, enforced: true });
    expect(status.status?.totalViolations).toBeDefined();
  });
}

test("dryrun refuses nothing and shows who would be hit", async () => {
  await eventually(() => kubectl("explain", "requiredlabels.spec.parameters"));
  await enforce("dryrun");
  await eventually(async () => {
    const violations = await kubectl("get", CONSTRAINT, "-o", "jsonpath={.status.violations[*].name}");
    expect(violations.split(" ")).toContain("before");
  });
  expect((await stage.cup("policy", "show", "owner-in-dev")).output).toContain("before");
  await kubectl("apply", "-f", write("dry.yaml", anApp("dry", {})));
});

test("deny refuses cup push, and cup policy test says so before", async () => {
  await enforce("deny");
  // kube-apiserver enforces a stored policy a moment later. An app that it stored before would be applied unchanged, which no policy refuses: so it stores none.
  await eventually(async () => {
    const denied = write("denied.yaml", anApp("denied", {}));
    const { code, output } = await stage.kubectl("apply", "--dry-run=server", "-f", denied);
    expect(code).not.toBe(0);
    expect(output).toContain(SENTENCE);
  });
  const push = await stage.cup("push", "shop", "-p", folder, "-m", "64M", "--no-route");
  expect(push.code).not.toBe(0);
  expect(push.output).toContain(SENTENCE);
  expect((await stage.kubectl("get", "apps.cupola.dev/shop", "-n", "local-dev")).output).toContain("not found");
  const manifest = write("manifest.yml", { applications: [{ name: "shop", path: folder, memory: "64M" }] });
  const { code, output } = await stage.cup("policy", "test", "-f", manifest);
  expect([code, output]).toEqual([1, expect.stringContaining(SENTENCE)]);
});

test("cup policy delete ends the rule", async () => {
  expect((await stage.cup("policy", "delete", "-f", "owner-in-dev")).code).toBe(0);
  await eventually(() => kubectl("apply", "-f", write("free.yaml", anApp("free", {}))));
});
