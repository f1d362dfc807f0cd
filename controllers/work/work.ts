// On a cluster of mode pull: makes the objects that the hub's Works hold, and reports their statuses. It removes an object only for a Work that tells it to.
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { secretCopyName, WORK_FINALIZER, workName } from "../../crds/work/names.ts";
import { findWorkKind, manifestOf, toWorkStatus } from "../../crds/work/remote-object.ts";
import { Work } from "../../crds/work/work.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import {
  defineController,
  NotReady,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type ReconcileResult,
  type RemoteCluster,
  type RemoteMarkers,
} from "../../kube/controller/controller.ts";
import { secretsOf } from "../shared/cluster-secrets.ts";
import { findRemoved, planSecret, REMOVED_KINDS, requireManifest, type Manifest } from "./plan.ts";

/** The agent's own cluster, among those that it knows. */
export const AGENT_CLUSTER = "here";

/** Until the agent's cache has what it made. */
const UNSEEN_MS = 200;
/** The namespace comes by another Work. */
const NAMESPACE_MS = 500;

/** Its primary kind is on the hub; its children are on the agent's own cluster. */
export function workController(): Controller {
  return defineController({
    name: "work",
    for: Work,
    remote: {
      owns: [Namespace, ...REMOVED_KINDS],
      creates: [Secret],
      mapCluster: (_cluster, read) => read.list(Work).map(({ metadata }) => metadata),
    },
    writesObject: false,
    finalizer: WORK_FINALIZER,
    // The hub sets it with the Work.
    needsFinalizer: ({ metadata }) => metadata.finalizers?.includes(WORK_FINALIZER) ?? false,
    reconcile: reconcileWork,
    finalize: finalizeWork,
  });
}

async function reconcileWork(work: Work, { clusters, client, read }: ReconcileContext): Promise<ReconcileResult> {
  const here = clusters.find(AGENT_CLUSTER);
  if (!here) return { keepStatus: true };
  const manifest = requireManifest(work, clusters.markers?.hub);
  // It is made with the first object in it, and is not missed afterwards.
  if (manifest.kind === Namespace.kind) return {};
  const namespace = findNamespace(here, work, { manifest, read });
  const ref = findWorkKind(manifest.kind ?? "");
  const found = ref && here.listOwned(ref, work.metadata.name)[0];
  const secrets = found ? [] : await copySecrets(work, manifest, client);
  return {
    remote: {
      owner: work.metadata.name,
      children: { [AGENT_CLUSTER]: [manifest] },
      ensured: { [AGENT_CLUSTER]: [...namespace, ...secrets] },
    },
    status: { ...toWorkStatus(manifest.kind ?? "", found?.["status"]) },
  };
}

/** Empty where the namespace exists. */
function findNamespace(
  here: RemoteCluster,
  work: Work,
  { manifest, read }: { manifest: Manifest; read: Reader },
): Draft[] {
  const name = manifest.metadata.namespace ?? "";
  if (here.read.find(Namespace, { name })) return [];
  const key = { namespace: work.metadata.namespace, name: workName(Namespace.kind, { name }) };
  const found = read.find(Work, key);
  const namespace = found && manifestOf(found);
  if (namespace) return [namespace];
  throw new NotReady("NamespaceMissing", `no Work holds the namespace ${name}`, { requeueAfterMs: NAMESPACE_MS });
}

/** The Secrets that the object names, for its namespace. */
function copySecrets(work: Work, manifest: Manifest, hub: KubeClient): Promise<Draft[]> {
  const { namespace } = manifest.metadata;
  if (manifest.kind === RouteBinding.kind) return Promise.resolve([]);
  return Promise.all(
    secretsOf(manifest).map(async (name): Promise<Draft> => {
      const key = { namespace: work.metadata.namespace ?? "", name: secretCopyName({ namespace, name }) };
      const copy = await hub.find(Secret, key);
      if (!copy)
        throw new NotReady("SecretMissing", `Secret ${name} of the app's variables is not beside its Work`, {
          requeueAfterMs: 1_000,
          isFailure: true,
        });
      return planSecret({ ...(namespace !== undefined && { namespace }), name }, copy);
    }),
  );
}

async function finalizeWork(work: Work, { clusters }: ReconcileContext): Promise<FinalizeResult> {
  const ref = findRemoved(work);
  if (!ref) return undefined;
  const here = clusters.find(AGENT_CLUSTER);
  if (!here) return { keepStatus: true, ready: { status: "False", reason: "Unreadable", message: "" } };
  const left: KubeObject[] = here.listOwned(ref, work.metadata.name);
  const unseen = left.length === 0 && (await isThere(work, ref, { here, markers: clusters.markers }));
  if (left.length === 0 && !unseen) return undefined;
  return {
    remote: { owner: work.metadata.name, children: { [AGENT_CLUSTER]: [] } },
    status: toWorkStatus(work.spec.kind, left[0]?.["status"]),
    ready: { status: "False", reason: "Stopping", message: "the object ends" },
    ...(unseen && { requeueAfterMs: UNSEEN_MS }),
  };
}

/** Whether its object is on the cluster all the same: the agent may have made it a moment ago. */
async function isThere(
  work: Work,
  ref: ResourceRef,
  { here, markers }: { here: RemoteCluster; markers: RemoteMarkers | undefined },
): Promise<boolean> {
  const key = manifestOf(work)?.metadata;
  const found = key && markers && (await here.client.find(ref, key));
  if (!found) return false;
  const { labels = {} } = found.metadata;
  return labels[markers.hubLabel] === markers.hub && labels[markers.ownerLabel] === work.metadata.name;
}
