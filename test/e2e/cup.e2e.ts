// The same journey as the stock cf's, with our own `cup`: by --json, as a script would.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../kube/api/object.ts";
import { eventually } from "../eventually.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");
const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");

/** A build in pods on a busy machine. */
const DEV_MS = chosenPlatformKind() === "node" ? 180_000 : 60_000;

interface Shown {
  name: string;
  urls: string[];
  processes: { type: string; instances: number; memory_in_mb: number; stats: { state: string }[] }[];
}

describe("cup", () => {
  let stage: TestPlatform;

  async function cup(...args: string[]): Promise<string> {
    const { code, output } = await stage.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  beforeAll(async () => {
    stage = await startTestPlatform();
  });
  afterAll(() => stage?.stop());

  test.skipIf(chosenPlatformKind() !== "laptop")("local status", async () => {
    expect(await stage.cupJson("local", "status")).toMatchObject({
      running: true,
      ready: true,
      port: stage.port,
      pid: stage.pids()[0],
    });
  });

  test("login and target", async () => {
    expect(await stage.cupJson("login", "--api", stage.url)).toMatchObject({
      user: "admin",
      org: "local",
      space: "dev",
    });
    await cup("create-org", "acme");
    await cup("target", "--org", "acme");
    await cup("create-space", "test");
    expect(await stage.cupJson("target", "--space", "test")).toMatchObject({ org: "acme", space: "test" });
    expect(await cup("orgs")).toContain("acme");
    expect(await cup("spaces")).toContain("test");
  });

  test("domains, buildpacks and stacks", async () => {
    expect(await cup("domains")).toContain("apps.localhost");
    expect(await cup("buildpacks")).toContain(stage.on === "node" ? "cupola/nodejs" : "nodejs_buildpack");
    expect(await cup("stacks")).toContain("host");
  });

  test("push shows the build and ends with the address", async () => {
    const output = await cup("push", "hello", "--path", HELLO, "-m", "128M", "-i", "2");
    expect(output).toContain(stage.on === "node" ? "*** Images" : "Staging complete");
    expect(output.trimEnd().split("\n").at(-1)).toBe(`hello runs: http://hello.apps.localhost:${stage.port}`);
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
    const app = await stage.cupJson<Shown>("app", "hello");
    expect(app.processes[0]).toMatchObject({ type: "web", instances: 2, memory_in_mb: 128 });
  });

  test("logs follow and recent", async () => {
    await stage.get("hello.apps.localhost", "/for-the-log");
    await eventually(async () => expect(await cup("logs", "hello", "--recent")).toContain("[APP/PROC/WEB/0]"));
    // An ingress controller writes no lines into apps' logs.
    if (stage.on === "node") return;
    await eventually(async () => expect(await cup("logs", "hello", "--recent")).toContain("/for-the-log"));
  });

  test("env, set-env, unset-env", async () => {
    await cup("set-env", "hello", "GREETING", "hi there");
    expect(await stage.cupJson("env", "hello")).toMatchObject({ environment_variables: { GREETING: "hi there" } });
    await cup("unset-env", "hello", "GREETING");
    expect(await stage.cupJson("env", "hello")).toMatchObject({ environment_variables: {} });
  });

  test("scale, stop, start, restart, restage", async () => {
    await cup("scale", "hello", "--instances", "1");
    await cup("scale", "hello", "--memory", "192M");
    expect((await stage.cupJson<Shown>("app", "hello")).processes[0]).toMatchObject({
      instances: 1,
      memory_in_mb: 192,
    });
    await cup("stop", "hello");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(404));
    for (const verb of ["start", "restart", "restage"]) {
      await cup(verb, "hello");
      await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(200));
    }
  });

  test.skipIf(chosenPlatformKind() === "cluster")(
    "dev pushes what is saved, and Ctrl-C leaves the app running",
    async () => {
      const folder = join(stage.home, "dev");
      const write = (answer: string): void =>
        writeFileSync(
          join(folder, "server.js"),
          `require("http").createServer((_, response) => response.end("${answer}")).listen(process.env.PORT);\n`,
        );
      mkdirSync(folder);
      write("one");
      const child = spawn(process.execPath, [CUP, "dev", "devapp", "--path", folder, "-m", "128M"], {
        env: {
          ...process.env,
          CUPOLA_HOME: stage.home,
          CUP_HOME: join(stage.home, "cup"),
          KUBECONFIG: stage.kubeconfig,
        },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let told = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (told += text));
      try {
        await eventually(() => expect(told).toContain("Watching"), DEV_MS);
        write("two");
        await eventually(async () => expect((await stage.get("devapp.apps.localhost")).body).toBe("two"), DEV_MS);
        const exited = once(child, "exit");
        child.kill("SIGINT");
        expect(await exited).toEqual([0, null]);
        expect((await stage.get("devapp.apps.localhost")).body).toBe("two");
        await cup("delete", "devapp", "--routes", "--force");
      } finally {
        child.kill("SIGKILL");
      }
    },
  );

  test("routes: create, map, unmap, delete", async () => {
    const address = ["apps.localhost", "--hostname", "second", "--path", "/deep"];
    await cup("create-route", ...address);
    await cup("map-route", "hello", ...address);
    expect(await cup("routes")).toContain(`http://second.apps.localhost:${stage.port}/deep`);
    await eventually(async () => expect((await stage.get("second.apps.localhost", "/deep")).status).toBe(200));
    await cup("unmap-route", "hello", ...address);
    await cup("delete-route", ...address, "--force");
    expect(await cup("routes")).not.toContain("second");
  });

  test("render prints objects that kubectl takes", async () => {
    const folder = join(stage.home, "rendered");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "manifest.yml"),
      "applications:\n- name: Shop\n  memory: 64M\n  instances: 2\n  env: { A: b }\n  processes: [{ type: worker, instances: 1, memory: 32M }]\n",
    );
    const text = await cup("render", "--manifest", join(folder, "manifest.yml"));
    expect(parseAllDocuments(text).map((document) => (document.toJS() as { kind: string }).kind)).toEqual([
      "Process",
      "Process",
      "Route",
      "App",
    ]);
    writeFileSync(join(folder, "objects.yaml"), text);
    const { code, output } = await stage.kubectl(
      "apply",
      "--server-side",
      "--dry-run=server",
      "-n",
      "acme-test",
      "-f",
      join(folder, "objects.yaml"),
    );
    expect(code, output).toBe(0);
  });

  test("policy test judges a manifest by a folder of policies, and its exit code is the answer", async () => {
    const folder = join(stage.home, "judged");
    mkdirSync(join(folder, "policies"), { recursive: true });
    writeFileSync(
      join(folder, "policies", "size.yaml"),
      "apiVersion: constraints.cupola.dev/v1alpha1\nkind: SizeLimit\nmetadata: { name: small }\nspec: { parameters: { maxMemoryMB: 64 } }\n",
    );
    const push = join(folder, "manifest.yml");
    const judge = (memory: string): ReturnType<TestPlatform["cup"]> => {
      writeFileSync(push, `applications:\n- { name: shop, memory: ${memory} }\n`);
      return stage.cup("policy", "test", "-f", push, "--policies", join(folder, "policies"), "-o", "json");
    };
    const [refused, allowed] = [await judge("65M"), await judge("64M")];
    expect([refused.code, allowed.code]).toEqual([1, 0]);
    expect(JSON.parse(refused.output)).toMatchObject({
      allowed: false,
      violations: [{ template: "SizeLimit", constraint: "small", object: { kind: "Process", name: "shop.web" } }],
    });
    expect(await cup("policy", "list")).toContain("sizelimit");
  });

  test("workload, adjust and detach say that instances of a laptop are processes", async () => {
    expect(await cup("workload", "hello")).toMatch(/^applies: +class process generates no objects of Kubernetes/m);
    const patch = join(stage.home, "patch.yaml");
    writeFileSync(patch, "spec: { nodeSelector: { disk: ssd } }\n");
    const refused = await stage.cup("adjust", "hello", "-f", patch);
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("the runner process makes no pods") });
    const kept = await stage.cup("detach", "hello");
    expect(kept).toMatchObject({
      code: 1,
      output: expect.stringContaining("the runner process makes no workload of Kubernetes"),
    });
  });

  test("errors name the next step, and exit codes tell their kind", async () => {
    const missing = await stage.cup("app", "nowhere");
    expect(missing.code).toBe(1);
    expect(missing.output).toContain("Next: cup apps");
    expect((await stage.cup("push", "wrong", "--path", "/nonexistent")).code).toBe(2);
    expect(await stage.cupJson<unknown[]>("apps")).toHaveLength(1);
    expect((await stage.cup("scale", "hello")).code).toBe(2);
    expect((await stage.cup("no-such-command")).code).toBe(2);
  });

  test("no object has met an unexpected error", async () => {
    const { code, output } = await stage.kubectl("get", "cf", "--all-namespaces", "-o", "json");
    expect(code, output).toBe(0);
    const { items } = JSON.parse(output) as { items: KubeObject[] };
    expect(items.map(({ kind }) => kind)).toContain("RouteBinding");
    const failed = items.filter(({ status = {} }) => JSON.stringify(status).includes('"InternalError"'));
    expect(failed.map(({ kind, metadata, status }) => ({ kind, name: metadata.name, status }))).toEqual([]);
  });

  test("delete app, space and org", async () => {
    await cup("delete", "hello", "--routes", "--force");
    await eventually(async () => expect((await stage.get("hello.apps.localhost")).status).toBe(404));
    await cup("delete-space", "test", "--force");
    await cup("delete-org", "acme", "--force");
    expect(await cup("orgs")).not.toContain("acme");
  });
});
