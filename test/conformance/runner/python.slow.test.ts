// A third party's runner under the suite: examples/runner-python, another process in another language, with the rights that the contract names and no others.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClusterRole, ClusterRoleBinding } from "../../../kube/api/builtin.ts";
import { findByEnvironment } from "../../../backends/host/process-table.ts";
import { startGuarded } from "../../cluster/guarded-process.ts";
import type { RunnerEnvironment } from "./environment.ts";
import { readProbe, requestByAddress, SPACE, startLaptop, type Laptop } from "./laptop.ts";
import { runnerTests } from "./suite.ts";

const CLASS = "python";
const TOKEN = "runner-token";
const USER = "runner-python";
const RUNNER = join(import.meta.dirname, "..", "..", "..", "examples", "runner-python", "runner.py");

function whyNoPython(): string | undefined {
  return spawnSync("python3", ["--version"]).status === 0 ? undefined : "there is no python3 on the PATH";
}

/** The rights that docs/workload-contract.md gives a runner in another process. */
async function grantRights({ client }: Laptop): Promise<void> {
  const group = ["workloads.cupola.dev"];
  await client.create(ClusterRole, {
    metadata: { name: USER },
    rules: [
      { apiGroups: group, resources: ["lrps", "backendclasses"], verbs: ["get", "list", "watch"] },
      { apiGroups: group, resources: ["lrps"], verbs: ["patch", "update"] },
      { apiGroups: group, resources: ["lrps/status", "backendclasses/status"], verbs: ["patch", "update"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
    ],
  });
  await client.create(ClusterRoleBinding, {
    metadata: { name: USER },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: USER },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: USER }],
  });
}

async function start(): Promise<RunnerEnvironment> {
  const laptop = await startLaptop({ className: CLASS, role: "runner" }, [{ token: TOKEN, user: USER }]);
  await grantRights(laptop);
  const dir = mkdtempSync(join(tmpdir(), "cupola-python-"));
  const root = join(dir, "droplet");
  mkdirSync(join(root, "app"), { recursive: true });
  writeFileSync(join(root, "app", "probe.mjs"), await readProbe());
  writeFileSync(join(dir, "ca.crt"), laptop.ca);
  const variables = {
    TMPDIR: dir,
    KUBERNETES_URL: laptop.url,
    KUBERNETES_TOKEN: TOKEN,
    KUBERNETES_CA: join(dir, "ca.crt"),
    RUNNER_CLASS: CLASS,
  };
  const runner = startGuarded(
    ["env", ...Object.entries(variables).map(([name, value]) => `${name}=${value}`), "python3", RUNNER],
    { name: "runner-python", logFile: join(dir, "log") },
  );
  return {
    client: laptop.client,
    className: CLASS,
    namespace: laptop.namespace,
    space: SPACE,
    droplet: { guid: "probe", kind: "host", root, processTypes: { web: "exec node probe.mjs" } },
    command: "exec node probe.mjs",
    patience: 30_000,
    request: requestByAddress,
    async stop() {
      if (!runner.running()) console.error(runner.log());
      await runner.kill();
      for (const pid of await findByEnvironment(`TMPDIR=${dir}/`)) process.kill(pid, "SIGKILL");
      await laptop.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

runnerTests({ name: CLASS, start, skip: whyNoPython() });
