// How to reach a cluster: its address, and the credentials of its Secret.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ClusterSource } from "../../kube/cache/cluster-provider.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { toCredentials, type CredentialSource } from "../../kube/client/credentials.ts";
import { createWorkClient } from "./work-client.ts";

/** Key of a cluster's Secret with the token for the logs and stats there. */
export const TELEMETRY_TOKEN_KEY = "telemetry-token";

export interface SourceOptions {
  /** The platform's own cluster. */
  client: KubeClient;
  /** The field manager of what the platform makes elsewhere. */
  manager: string;
  /** How long the agent of a pull cluster may leave its Lease as it is. */
  silentMs: number;
}

/** With the token for its logs and stats, where its Secret has one. @throws Error that says what is missing */
export async function readClusterSource(
  cluster: Cluster,
  options: SourceOptions,
): Promise<ClusterSource & { telemetryToken?: string }> {
  if (cluster.spec.mode === "push") return readPushSource(cluster, options.client);
  const { name, uid } = cluster.metadata;
  const { client: hub, manager, silentMs } = options;
  return {
    hash: JSON.stringify(["pull", uid]),
    connect: () => createWorkClient({ hub, cluster: name, manager, silentMs }),
  };
}

async function readPushSource(
  { spec }: Cluster,
  client: KubeClient,
): Promise<ClusterSource & { telemetryToken?: string }> {
  const { server, credentialsRef } = spec;
  if (server === undefined || credentialsRef === undefined)
    throw new Error("spec.server and spec.credentialsRef are not set yet");
  const secret = await readSecret(client, credentialsRef.name);
  return {
    ...(secret.telemetryToken !== undefined && { telemetryToken: secret.telemetryToken }),
    // A new token engages nothing anew.
    hash: JSON.stringify([server, secret.ca, secret.uid]),
    connect: () =>
      createClient({
        server,
        ca: secret.ca,
        auth: credentialsFrom(client, credentialsRef.name, secret.token),
        userAgent: "cupola-hub",
        fieldManager: "cupola-hub",
      }),
  };
}

/** Reads the Secret again when the cluster refuses the token. */
function credentialsFrom(client: KubeClient, name: string, first: string): CredentialSource {
  let token = first;
  return async ({ renew } = {}) => {
    if (renew) ({ token } = await readSecret(client, name));
    return toCredentials({ kind: "token", token });
  };
}

interface ClusterSecret {
  uid: string;
  token: string;
  ca: string;
  telemetryToken?: string;
}

/** @throws Error that names the Secret and the key, never a value */
async function readSecret(client: KubeClient, name: string): Promise<ClusterSecret> {
  const secret = await client.find(Secret, { namespace: SYSTEM_NAMESPACE, name });
  if (!secret) throw new Error(`Secret ${name} of namespace ${SYSTEM_NAMESPACE} does not exist`);
  const find = (key: string): string | undefined => {
    const value = secret.data?.[key];
    return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
  };
  const read = (key: string): string => {
    const value = find(key);
    if (value === undefined) throw new Error(`Secret ${name} has no key ${key}`);
    return value;
  };
  const telemetryToken = find(TELEMETRY_TOKEN_KEY);
  return {
    uid: secret.metadata.uid ?? "",
    token: read("token").trim(),
    ca: read("ca.crt"),
    ...(telemetryToken !== undefined && { telemetryToken }),
  };
}
