// `cupola` reports a wrong configuration in one sentence without a stack, and joins only a cluster that its options name.
import { spawnSync } from "node:child_process";
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

const MISSING = join(tmpdir(), "no-such-file");
const kubeconfig = ["--kubeconfig", KUBECONFIG];

test.each<[string, string[], string]>([
  ["no cluster", [], "no cluster is named: give --kubeconfig FILE"],
  ["a missing kubeconfig", ["--kubeconfig", MISSING], `kubeconfig ${MISSING} cannot be used`],
  ["an unknown context", [...kubeconfig, "--context", "b"], "it has no context named b"],
  ["half of TLS", [...kubeconfig, "--tls-cert", MISSING], "--tls-cert and --tls-key go together"],
  [
    "a missing certificate",
    [...kubeconfig, "--tls-cert", MISSING, "--tls-key", MISSING],
    `--tls-cert ${MISSING} cannot be read: ENOENT`,
  ],
  ["no TLS off loopback", [...kubeconfig, "--host", "0.0.0.0"], "--host 0.0.0.0: off loopback the API serves TLS only"],
  [
    "a registry with a scheme",
    [...kubeconfig, "--registry", "https://registry.example/cupola"],
    '--registry: "https://registry.example/cupola" is no place in a registry: give host[:port]/path without https://',
  ],
  [
    "credentials without a registry",
    [...kubeconfig, "--registry-credentials", MISSING],
    "--registry-credentials and --insecure-registry go with --registry",
  ],
  [
    "missing credentials",
    [...kubeconfig, "--registry", "registry.example/cupola", "--registry-credentials", MISSING],
    `--registry-credentials ${MISSING} cannot be read: ENOENT`,
  ],
  [
    "credentials of another form",
    [...kubeconfig, "--registry", "registry.example/cupola", "--registry-credentials", KUBECONFIG],
    `${KUBECONFIG} is no dockerconfigjson: this is not JSON`,
  ],
  ["half of an issuer", [...kubeconfig, "--user-prefix", "x"], "go with --token-issuer"],
])("%s", (_what, args, message) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, "cupola.ts"), ...args, "--data", join(tmpdir(), "cupola-data")],
    { cwd: tmpdir(), timeout: 20_000, encoding: "utf8", env: { PATH: process.env["PATH"], KUBECONFIG } },
  );
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^cupola: .*\n$/);
});
