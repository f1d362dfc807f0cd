// A given cluster is somebody's own: only the test that joined it may act as its admin.
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Namespace } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { adminToken } from "../control-plane-commands.ts";
import { startCluster } from "./given-cluster.ts";

afterEach(() => vi.unstubAllEnvs());

/** Answers every request with an empty list of Namespaces. Returns the path of its kubeconfig. */
async function startSomeCluster(): Promise<string> {
  const authority = await makeAuthority("somebody");
  const { cert, key } = await issueCertificate(authority, { commonName: "cluster", ipAddresses: ["127.0.0.1"] });
  const answer = JSON.stringify({ apiVersion: "v1", kind: "NamespaceList", metadata: {}, items: [] });
  const server = createServer({ cert, key }, (_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(answer),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const dir = mkdtempSync(join(tmpdir(), "cupola-somebody-"));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const path = join(dir, "kubeconfig");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    path,
    kubeconfigText({ server: url, ca: authority.cert, users: [{ name: "owner", token: "the owner's" }] }),
  );
  return path;
}

test("a token that stands in this repository opens no given cluster", async () => {
  vi.stubEnv("CUPOLA_TEST_CLUSTER", "1");
  vi.stubEnv("CUPOLA_TEST_REGISTRY", "http://u:p@registry.example.com:5000");
  vi.stubEnv("KUBECONFIG", await startSomeCluster());
  const cluster = await startCluster([]);
  onTestFinished(() => cluster.stop());
  const listWith = async (token: string): Promise<unknown> => {
    const client = createClient({ server: cluster.url, ca: cluster.ca, auth: { kind: "token", token } });
    try {
      return (await client.list(Namespace, { limit: 1 })).items;
    } finally {
      await client.close();
    }
  };
  await expect(listWith(adminToken)).rejects.toMatchObject({ code: 401 });
  expect(await listWith(cluster.adminToken)).toEqual([]);
  expect(readFileSync(cluster.kubeconfig, "utf8")).toContain(cluster.adminToken);
});
