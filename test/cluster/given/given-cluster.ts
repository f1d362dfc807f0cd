// Any cluster instead of ours: CUPOLA_TEST_CLUSTER=1 with KUBECONFIG, and a registry that it and this machine reach. docs/test-node.md says what runs there.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { Namespace } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { findProgram } from "../../find-program.ts";
import { provideBinary } from "../binaries.ts";
import type { TokenUser } from "../control-plane-commands.ts";
import { startNode, type TestNode } from "../node/node.ts";
import { whyNoNode } from "../node/requirements.ts";
import { startImpersonatingProxy } from "./impersonating-proxy.ts";

/** Needs of tests that run on any cluster. */
export type TestCluster = Pick<
  TestNode,
  "url" | "ca" | "adminToken" | "kubeconfig" | "kubectl" | "dir" | "registry" | "stop"
> & {
  /** This machine as pods see it; only where the cluster runs here. */
  hostAddress?: string;
};

const REGISTRY = "CUPOLA_TEST_REGISTRY";

/** Why there is neither a given cluster nor a node of ours, in a sentence without its full stop. */
export function whyNoCluster(): string | undefined {
  if (!isGiven()) return whyNoNode();
  if (!process.env["KUBECONFIG"]) return "CUPOLA_TEST_CLUSTER needs KUBECONFIG";
  return readRegistry() ? undefined : `CUPOLA_TEST_CLUSTER needs ${REGISTRY}=http://USER:PASSWORD@HOST:PORT`;
}

export function isGiven(): boolean {
  return process.env["CUPOLA_TEST_CLUSTER"] === "1";
}

/** The given cluster, else a node of ours. What a test makes in a given one stays there. Tokens of `users` open it to any process of this machine: make them at random. */
export async function startCluster(users: TokenUser[]): Promise<TestCluster> {
  return isGiven() ? await joinGiven(users) : await startNode({ users });
}

function readRegistry(): TestNode["registry"] | undefined {
  const address = process.env[REGISTRY] ?? "";
  if (!URL.canParse(address)) return undefined;
  const { host, username, password } = new URL(address);
  return { host, username: decodeURIComponent(username), password: decodeURIComponent(password) };
}

async function joinGiven(users: TokenUser[]): Promise<TestCluster> {
  const registry = readRegistry();
  if (!registry) throw new Error(whyNoCluster());
  const config = new KubeConfig();
  config.loadFromDefault();
  // Not the one of our own clusters: any process of this machine could be cluster-admin with a token that stands in a repository.
  const adminToken = randomUUID();
  const proxy = await startImpersonatingProxy(config, adminToken, users);
  const dir = mkdtempSync(join(tmpdir(), "cupola-given-"));
  const kubeconfig = join(dir, "kubeconfig");
  const { url, ca } = proxy;
  writeFileSync(kubeconfig, kubeconfigText({ server: url, ca, users: [{ name: "admin", token: adminToken }] }));
  const stop = async (): Promise<void> => {
    await proxy.close();
    rmSync(dir, { recursive: true, force: true });
  };
  await checkAnswers({ url, ca, adminToken }).catch(async (cause: unknown) => {
    await stop();
    throw new Error("the cluster of KUBECONFIG does not answer, or not its user, who needs the role cluster-admin", {
      cause,
    });
  });
  const kubectl = findProgram("kubectl") ?? (await provideBinary("kubectl"));
  return { url, ca, adminToken, kubeconfig, kubectl, dir, registry, stop };
}

async function checkAnswers({ url, ca, adminToken }: Pick<TestCluster, "url" | "ca" | "adminToken">): Promise<void> {
  const client = createClient({ server: url, ca, auth: { kind: "token", token: adminToken } });
  try {
    await client.list(Namespace, { limit: 1 });
  } finally {
    await client.close();
  }
}
