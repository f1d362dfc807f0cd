// Promises of test/cluster: a working API server for an admin and for issued certificates, and nothing left behind, kill -9 included.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { request } from "node:https";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { whyNoControlPlane } from "./binaries.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";

const run = promisify(execFile);
const reason = whyNoControlPlane();

describe.skipIf(reason)("control plane", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
  }, 3_600_000);
  afterAll(async () => {
    await plane?.stop();
    expect(existsSync(plane.dir)).toBe(false);
  });

  test("kubectl with the kubeconfig is an administrator, and the controllers act", async () => {
    const kubectl = (...args: string[]) =>
      run(plane.kubectl, ["--kubeconfig", plane.kubeconfig, ...args], { timeout: 30_000 });
    await kubectl("create", "namespace", "first");
    await kubectl("wait", "--for=create", "serviceaccount/default", "-n", "first", "--timeout=20s");
    await kubectl("delete", "namespace", "first", "--timeout=20s");
  });

  test("an issued certificate authenticates as its subject", async () => {
    const alice = await plane.issueClient({ commonName: "alice", organizations: ["devs"] });
    const body = await new Promise<string>((resolve, reject) => {
      const call = request(
        `${plane.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
        { method: "POST", ca: plane.ca, ...alice, agent: false, headers: { "content-type": "application/json" } },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString())).on("end", () => resolve(text));
        },
      );
      call
        .on("error", reject)
        .end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }));
    });
    expect(JSON.parse(body)).toMatchObject({
      status: { userInfo: { username: "alice", groups: ["devs", "system:authenticated"] } },
    });
  });

  test.each(["etcd", "kube-apiserver"] as const)(
    "a restart of %s loses nothing",
    async (part) => {
      const kubectl = (...args: string[]) =>
        run(plane.kubectl, ["--kubeconfig", plane.kubeconfig, ...args], { timeout: 30_000 });
      await kubectl("create", "namespace", `before-${part}`);
      await plane.restart(part);
      await vi.waitFor(() => kubectl("get", "namespace", `before-${part}`), { timeout: 20_000, interval: 200 });
    },
    120_000,
  );

  test("kill -9 of the process that started it leaves no process and no file", async () => {
    const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url))], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    await vi.waitFor(() => expect(printed).toContain("Ctrl-C"), { timeout: 100_000, interval: 100 });
    const url = /https:\S+:\d+/.exec(printed)![0];
    const dir = /removes (\S+)/.exec(printed)![1]!;
    expect(existsSync(dir)).toBe(true);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(existsSync(dir)).toBe(false), { timeout: 15_000, interval: 100 });
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  }, 120_000);
});

if (reason) test.skip(`control plane: skipped, ${reason}`, () => undefined);
