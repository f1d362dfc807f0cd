// `cup clusters add NAME --context …`: gives the platform the account that the chart's mode spoke has made on that cluster, and nothing else of the kubeconfig.
import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { HUB_ACCOUNT, HUB_TOKEN_SECRET } from "../../crds/hub-account.ts";
import { systemObject } from "../../crds/settings-object.ts";
import { Namespace, Role, RoleBinding, Secret } from "../../kube/api/builtin.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import type { KubeconfigAccess } from "../../kube/client/kubeconfig.ts";
import { TELEMETRY_TOKEN_KEY } from "../../platform/operations/cluster-source.ts";
import { deriveHubToken } from "../../platform/peers/address-token.ts";
import { TELEMETRY_SECRET, tokenOf } from "../../platform/telemetry/telemetry-secret.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { listControllerAccounts } from "./agent-objects.ts";
import { awaitReady } from "./clusters.ts";
import { toLabels } from "./segments.ts";
import { FIELD_MANAGER, withSpoke, type SpokeContext } from "./spoke-access.ts";

export interface AddOptions extends SpokeContext {
  /** Address of the cluster's API server as the platform reaches it. */
  server?: string;
  /** `tier=prod,region=eu` */
  labels?: string;
}

/** The account of the hub on a spoke. */
interface HubAccount {
  server: string;
  token: string;
  ca: string;
  /** The uid of its namespace kube-system. */
  uid: string;
  /** Opens the logs and stats there. Undefined before the platform's processes have run there. */
  telemetryToken: string | undefined;
}

const READ_DEADLINE_MS = 15_000;
const POLL_MS = 500;
const INSTALL = "install the chart there: helm install cupola … --set mode=spoke (docs/many-clusters.md)";

/** For a cluster that is there already, the new token replaces the old one. */
export async function addCluster(
  kube: KubeClient,
  name: string,
  options: AddOptions & { progress: Progress },
): Promise<Result> {
  const { progress } = options;
  progress.step(`Reading the account ${HUB_ACCOUNT} of cluster ${name}`);
  const account = await readAccount(options);
  const known = await kube.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
  if (known?.status?.clusterUID !== undefined && known.status.clusterUID !== account.uid)
    throw new Failure(`cluster ${name} exists already, and is another one`, {
      next: "choose another name, or cup clusters remove the old one first",
    });
  const labels = options.labels === undefined ? (known?.metadata.labels ?? {}) : toLabels(options.labels, "--labels");
  if (account.telemetryToken === undefined)
    progress.line(
      `No process of the platform has run on cluster ${name} yet: when its pods are ready, repeat this command, and the logs of apps there can be read`,
    );
  progress.step(`Giving it to the platform`);
  await writeCredentials(kube, name, account);
  const object = systemObject(Cluster, name, {
    mode: "push",
    server: account.server,
    credentialsRef: { name: secretName(name) },
  });
  await apply(kube, Cluster, { ...object, metadata: { ...object.metadata, labels } });
  return awaitReady(kube, name, {
    progress,
    step: `Waiting until the platform reaches ${account.server}`,
    next: `the platform must reach ${account.server}; with another address: cup clusters add ${name} --server URL`,
  });
}

/** The Secret with the credential of a cluster. */
export const secretName = (cluster: string): string => `cluster-${cluster}`;
/** The Role and the RoleBinding of those who may read it. */
export const roleName = (cluster: string): string => `cupola-cluster-${cluster}`;

function readAccount({ server, ...context }: AddOptions): Promise<HubAccount> {
  return withSpoke(
    context,
    async (spoke, access) => ({ ...(await readToken(spoke, access)), server: server ?? access.server }),
    `use a context whose user may read Secrets of ${SYSTEM_NAMESPACE} there`,
  );
}

/** Kubernetes fills the Secret a moment after it is made. */
async function readToken(spoke: KubeClient, access: KubeconfigAccess): Promise<Omit<HubAccount, "server">> {
  const deadline = Date.now() + READ_DEADLINE_MS;
  const { metadata } = await spoke.get(Namespace, { name: "kube-system" }, { deadlineMs: READ_DEADLINE_MS });
  for (;;) {
    const secret = await spoke.find(Secret, { namespace: SYSTEM_NAMESPACE, name: HUB_TOKEN_SECRET });
    if (!secret)
      throw new Failure(`the cluster of context ${access.context} has no account for another platform`, {
        next: INSTALL,
      });
    const [token, ca] = ["token", "ca.crt"].map((key) => Buffer.from(secret.data?.[key] ?? "", "base64").toString());
    if (token && (access.ca ?? ca))
      return {
        token,
        ca: access.ca ?? ca ?? "",
        uid: metadata.uid ?? "",
        telemetryToken: await readTelemetryToken(spoke, deadline),
      };
    if (Date.now() > deadline)
      throw new Failure(`Secret ${HUB_TOKEN_SECRET} of that cluster has no token yet`, {
        next: "try again when its kube-controller-manager runs",
      });
    await delay(POLL_MS);
  }
}

/** The first of the platform's processes there makes the secret that the token derives from. */
async function readTelemetryToken(spoke: KubeClient, deadline: number): Promise<string | undefined> {
  for (;;) {
    const found = await spoke.find(Secret, { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET });
    const secret = found && tokenOf(found);
    if (secret !== undefined) return deriveHubToken(secret);
    if (Date.now() > deadline) return undefined;
    await delay(POLL_MS);
  }
}

/** The Secret, and the right of those who run controllers to read it: RBAC knows no prefixes of names. */
async function writeCredentials(
  kube: KubeClient,
  cluster: string,
  { token, ca, telemetryToken }: HubAccount,
): Promise<void> {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const metadata = { namespace: SYSTEM_NAMESPACE, name: secretName(cluster) };
  await apply(kube, Secret, {
    metadata,
    type: "Opaque",
    data: {
      token: encode(token.trim()),
      "ca.crt": encode(ca),
      ...(telemetryToken !== undefined && { [TELEMETRY_TOKEN_KEY]: encode(telemetryToken) }),
    },
  });
  const subjects = await listControllerAccounts(kube);
  // On a laptop the platform may read every Secret.
  if (subjects.length === 0) return;
  const role = { namespace: SYSTEM_NAMESPACE, name: roleName(cluster) };
  const rules = [{ apiGroups: [""], resources: ["secrets"], resourceNames: [metadata.name], verbs: ["get"] }];
  await apply(kube, Role, { metadata: role, rules });
  await apply(kube, RoleBinding, {
    metadata: role,
    roleRef: { apiGroup: Role.group, kind: Role.kind, name: role.name },
    subjects,
  });
}

async function apply(kube: KubeClient, ref: ResourceRef, object: Draft): Promise<void> {
  await kube.apply(
    ref,
    { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object },
    { fieldManager: FIELD_MANAGER, force: true },
  );
}
