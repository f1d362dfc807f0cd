// The process `cupola` reports a wrong configuration in one line without a stack, and joins only a cluster that its options name.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const KUBECONFIG = join(tmpdir(), `kubeconfig-${randomUUID()}`);
writeFileSync(
  KUBECONFIG,
  `current-context: a
clusters: [{ name: a, cluster: { server: "https://127.0.0.1:1" } }]
contexts: [{ name: a, context: { cluster: a, user: a } }]
users: [{ name: a, user: { token: secret } }]
`,
);

interface Ended {
  code: number | string | null | undefined;
  stdout: string;
  stderr: string;
}

function run(args: string[]): Promise<Ended> {
  const command = [join(import.meta.dirname, "cupola.ts"), ...args, "--data", join(tmpdir(), "cupola-data")];
  const options = { cwd: tmpdir(), timeout: 20_000, env: { PATH: process.env["PATH"], KUBECONFIG } };
  return new Promise((resolve) =>
    execFile(process.execPath, command, options, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    ),
  );
}

test.concurrent.each<[string, string[], string]>([
  ["KUBECONFIG is ignored", [], "no cluster is named: give --kubeconfig FILE"],
  [
    "no TLS off loopback",
    ["--kubeconfig", KUBECONFIG, "--host", "0.0.0.0"],
    "--host 0.0.0.0: off loopback the API serves TLS only",
  ],
  [
    "credentials of another form",
    ["--kubeconfig", KUBECONFIG, "--registry", "registry.example/cupola", "--registry-credentials", KUBECONFIG],
    `${KUBECONFIG} is no dockerconfigjson: this is not JSON`,
  ],
])("%s", async (_what, args, message) => {
  const { code, stdout, stderr } = await run(args);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^cupola: .*\n$/);
});
