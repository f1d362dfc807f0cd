// What runs in the cluster once its API server answers: DNS, and Traefik where a test wants it.
import { createClient } from "../../../kube/client/create-client.ts";
import { provideBinary } from "../binaries.ts";
import { applyGatewayAPI } from "../gateway-api.ts";
import { clusterDns } from "./cluster-dns.ts";
import type { Kubectl } from "./test-kubectl.ts";
import { traefik, type TraefikOptions } from "./traefik.ts";

/** A DaemonSet to wait for. */
export interface Addon {
  name: string;
  namespace: string;
}

export async function applyClusterDns(kubectl: Kubectl, program: string): Promise<Addon> {
  await apply(kubectl, clusterDns(program));
  return { name: "coredns", namespace: "kube-system" };
}

/** With the kinds of the Gateway API. */
export async function applyTraefik(
  kubectl: Kubectl,
  access: { url: string; ca: string; adminToken: string },
  options: Omit<TraefikOptions, "program"> & { log?: (line: string) => void },
): Promise<Addon> {
  const auth = { kind: "token", token: access.adminToken } as const;
  const client = createClient({ server: access.url, ca: access.ca, auth });
  try {
    await applyGatewayAPI(client);
  } finally {
    await client.close();
  }
  await apply(kubectl, traefik({ ...options, program: await provideBinary("traefik", options.log) }));
  return { name: "traefik", namespace: "traefik" };
}

async function apply(kubectl: Kubectl, items: readonly object[]): Promise<void> {
  await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
}
