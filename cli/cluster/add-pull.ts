// `cup clusters add NAME --pull`: a cluster that the platform cannot call. Its agent calls the platform, with a token that this command prints.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { systemObject } from "../../crds/settings-object.ts";
import { pullClusterObjects } from "../../crds/work/agent-objects.ts";
import { AGENT_ACCOUNT, clusterNamespace, WORK_FINALIZER } from "../../crds/work/names.ts";
import { Work } from "../../crds/work/work.ts";
import { ConfigMap, Lease, Namespace, Role, RoleBinding, ServiceAccount } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isNotFound } from "../../kube/client/errors.ts";
import { requestToken } from "../../platform/operations/hub-login.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { listControllerAccounts, type AddOptions } from "./add.ts";
import { toLabels } from "./segments.ts";

const HOUR_SECONDS = 3600;
const FIELD_MANAGER = "cup";
const REFS: readonly ResourceRef[] = [Namespace, ServiceAccount, Lease, Role, RoleBinding];

/** For a cluster that is there already, a new token. */
export async function addPullCluster(
  kube: KubeClient,
  name: string,
  { server = kube.server, labels, progress }: Pick<AddOptions, "server" | "labels"> & { progress: Progress },
): Promise<Result> {
  progress.step(`Making the account of the agent of cluster ${name}`);
  await writePullCluster(kube, name, labels === undefined ? undefined : toLabels(labels, "--labels"));
  const { token } = await requestToken(kube, name, undefined, HOUR_SECONDS);
  const ca = await readAuthority(kube);
  const values = {
    mode: "spoke",
    "agent.hub.url": server,
    "agent.hub.cluster": name,
    "agent.hub.token": token,
    ...(ca !== undefined && { "agent.hub.ca": Buffer.from(ca).toString("base64") }),
  };
  const sets = Object.entries(values).map(([key, value]) => `  --set ${key}=${value} \\`);
  return {
    json: { name, namespace: clusterNamespace(name), values },
    text: [
      `Cluster ${name} is added. Install the chart on it within an hour, with image and registry as here; the agent then renews its token by itself:`,
      "",
      "helm upgrade --install cupola deploy/helm/cupola -n cupola-system --create-namespace \\",
      ...sets,
      "  --set image.repository=… --set registry.prefix=… --set registry.pull.username=… --set registry.pull.password=…",
      "",
      ...(ca === undefined
        ? [
            `The authority of ${server} is not known here: where it is not a public one, add --set agent.hub.ca=BASE64-OF-PEM`,
          ]
        : []),
      `Next, when its pods are ready: cup clusters shows ${name}. Logs of apps there cannot be read yet.`,
    ],
  };
}

/** @throws Failure when the platform calls a cluster of this name */
async function writePullCluster(
  kube: KubeClient,
  name: string,
  labels: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const known = await kube.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
  if (known && known.spec.mode !== "pull")
    throw new Failure(`cluster ${name} exists already, and the platform calls it`, {
      next: "choose another name, or cup clusters remove the old one first",
    });
  // The platform follows the Cluster: its rights come first.
  await writeAgentObjects(kube, name);
  const cluster = systemObject(Cluster, name, { mode: "pull" });
  await apply(kube, Cluster, {
    ...cluster,
    metadata: { ...cluster.metadata, labels: labels ?? known?.metadata.labels ?? {} },
  });
}

/** The namespace of a pull cluster, and all accounts and rights there. */
export async function writeAgentObjects(kube: KubeClient, name: string): Promise<void> {
  for (const object of pullClusterObjects(name, await listControllerAccounts(kube))) {
    const ref = REFS.find(({ kind }) => kind === object.kind);
    if (ref) await apply(kube, ref, object);
  }
}

function apply(kube: KubeClient, ref: ResourceRef, object: KubeObject): Promise<KubeObject> {
  const draft = { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind };
  return kube.apply(ref, draft, { fieldManager: FIELD_MANAGER, force: true });
}

/** A cluster publishes it in each namespace. */
async function readAuthority(kube: KubeClient): Promise<string | undefined> {
  const key = { namespace: SYSTEM_NAMESPACE, name: "kube-root-ca.crt" };
  const found = await kube.find(ConfigMap, key).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  return (found as { data?: Record<string, string> } | undefined)?.data?.["ca.crt"];
}

/** The account goes first, so that no agent calls any more. Nothing on the cluster is removed. */
export async function removePullObjects(kube: KubeClient, name: string): Promise<void> {
  const namespace = clusterNamespace(name);
  await ignoreMissing(kube.delete(ServiceAccount, { namespace, name: AGENT_ACCOUNT }));
  const { items } = await kube.list(Work, { namespace });
  for (const { metadata } of items) {
    const finalizers = (metadata.finalizers ?? []).filter((one) => one !== WORK_FINALIZER);
    await ignoreMissing(kube.patch(Work, metadata, { type: "merge", body: { metadata: { finalizers } } }));
    await ignoreMissing(kube.delete(Work, metadata));
  }
  await ignoreMissing(kube.delete(Namespace, { name: namespace }));
}

async function ignoreMissing(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
