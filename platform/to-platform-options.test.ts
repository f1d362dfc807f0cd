// A wrong option of `cupola` is reported in one sentence that names it.
import { writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseCommandLine } from "./cupola-options.ts";
import { toPlatformOptions } from "./to-platform-options.ts";

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
  ["half of a hub", [...kubeconfig, "--hub", "https://hub.example"], "--hub-account-token go together"],
  [
    "a hub without TLS",
    [
      ...[...kubeconfig, "--hub", "http://hub.example", "--hub-cluster", "west"],
      ...["--hub-token", MISSING, "--hub-account-token", MISSING],
    ],
    '--hub: "http://hub.example" is no address of an API server: give https://HOST:PORT',
  ],
  ["half of an issuer", [...kubeconfig, "--user-prefix", "x"], "go with --token-issuer"],
])("%s", async (_what, args, message) => {
  const options = parseCommandLine(["node", "cupola", ...args], false);
  const error = await toPlatformOptions(options, false).then(() => expect.unreachable(), String);
  expect(error).toContain(message);
  expect(error).not.toContain("\n");
});
