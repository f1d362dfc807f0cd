// `cup clusters add NAME --pull`: a cluster that the platform cannot call. Its agent calls the platform, with a token that this command prints.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { systemObject } from "../../crds/settings-object.ts";
import { clusterNamespace } from "../../crds/work/names.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { requestToken } from "../../platform/operations/hub-login.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import type { AddOptions } from "./add.ts";
import { applyObject, requireNoLeftovers, writeAgentObjects } from "./agent-objects.ts";
import { toLabels } from "./segments.ts";

const HOUR_SECONDS = 3600;
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

/** @throws Failure when the platform calls a cluster of this name, or a former one has left something */
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
  if (known?.metadata.deletionTimestamp !== undefined)
    throw new Failure(`cluster ${name} is being deleted`, { next: `cup clusters forget ${name}, then repeat this` });
  if (!known) await requireNoLeftovers(kube, name);
  // The platform follows the Cluster: its rights come first.
  await writeAgentObjects(kube, name);
  const cluster = systemObject(Cluster, name, { mode: "pull" });
  await applyObject(kube, Cluster, {
    ...cluster,
    metadata: { ...cluster.metadata, labels: labels ?? known?.metadata.labels ?? {} },
  });
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
