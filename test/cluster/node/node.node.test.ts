// Promises of test/cluster/node: pods that run, logs, DNS, pulls from a registry with authentication, and no trace once it is stopped or killed.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { listCgroups } from "./cgroups.ts";
import { startNode, type TestNode } from "./node.ts";
import { pushImage } from "./push-image.ts";
import { whyNoNode } from "./requirements.ts";
import { BASE_IMAGE } from "./settings.ts";
import { kubectlOf } from "./test-kubectl.ts";

const reason = whyNoNode();

describe.skipIf(reason)("node", () => {
  let node: TestNode;
  const kubectl = (...args: string[]) => kubectlOf(node)(args);
  /** Runs a shell command in a new pod and returns its log once it has ended well. */
  const runPod = async (name: string, command: string, image = BASE_IMAGE, ...more: string[]) => {
    await kubectl("run", name, `--image=${image}`, "--restart=Never", ...more, "--command", "--", "sh", "-c", command);
    await kubectl("wait", `pod/${name}`, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=40s");
    return await kubectl("logs", name);
  };

  beforeAll(async () => {
    node = await startNode();
    await kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=20s");
  }, 1_800_000);
  afterAll(async () => {
    await node?.stop();
    expectNoTrace(node.dir, node.hostAddress);
  });

  test("a pod runs, resolves a Service, reaches the API server through it, and its log is read", async () => {
    const server = "kubernetes.default.svc.cluster.local";
    const log = await runPod("dns", `nslookup ${server} && nc -w 5 ${server} 443 </dev/null && echo connected`);
    expect(log).toContain("Address: 10.96.0.1\n");
    expect(log).toMatch(/connected\n$/);
  });

  test("an image is pulled from the registry with a pull secret, and refused without one", async () => {
    const { host, username, password } = node.registry;
    await pushImage(join(node.dir, "image", "busybox"), "private/probe:1", node.registry);
    const image = `${host}/private/probe:1`;
    await kubectl("run", "refused", `--image=${image}`, "--restart=Never");
    await eventually(async () => {
      expect(await kubectl("get", "pod", "refused", "-o", "jsonpath={..waiting.reason}")).toMatch(
        /ErrImagePull|ImagePullBackOff/,
      );
    });
    const credentials = [`--docker-server=${host}`, `--docker-username=${username}`, `--docker-password=${password}`];
    await kubectl("create", "secret", "docker-registry", "pull", ...credentials);
    const overrides = JSON.stringify({ spec: { imagePullSecrets: [{ name: "pull" }] } });
    expect(await runPod("pulled", "echo pulled", image, `--overrides=${overrides}`)).toBe("pulled\n");
  });

  test("a killed kubelet starts again, and the cluster goes on", async () => {
    const startAgain = await node.kill("kubelet");
    startAgain();
    expect(await runPod("after", "echo after")).toBe("after\n");
  });

  test("kill -9 of who started a second one leaves no process, file, cgroup or network device of it, and the first goes on", async () => {
    const main = fileURLToPath(new URL("../main.ts", import.meta.url));
    const child = spawn(process.execPath, [main, "--node"], { stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    await eventually(() => expect(printed).toContain("Ctrl-C"), 100_000);
    const dir = /removes (\S+)/.exec(printed)![1]!;
    const hostAddress = /this machine at ([\d.]+)\./.exec(printed)![1]!;
    expect(hostAddress).not.toBe(node.hostAddress);
    expect(listCgroups(basename(dir))).not.toEqual([]);
    child.kill("SIGKILL");
    await eventually(() => expectNoTrace(dir, hostAddress), 30_000);
    expect(await runPod("still", "echo still")).toBe("still\n");
  }, 160_000);
});

if (reason) test.skip(`node: skipped, ${reason}`, () => undefined);

function expectNoTrace(dir: string, hostAddress: string): void {
  expect(existsSync(dir)).toBe(false);
  expect(listCgroups(basename(dir))).toEqual([]);
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  expect(addresses).not.toContain(hostAddress);
}
