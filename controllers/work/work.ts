// On a cluster of mode pull: makes the objects that the hub's Works hold, and reports their statuses. It removes an object only for a Work that tells it to.
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { secretCopyName, WORK_FINALIZER } from "../../crds/work/names.ts";
import { findWorkKind, manifestOf, toWorkStatus } from "../../crds/work/remote-object.ts";
import { Work } from "../../crds/work/work.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import {
  defineController,
  NotReady,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type ReconcileResult,
  type RemoteCluster,
} from "../../kube/controller/controller.ts";
import { secretsOf } from "../shared/cluster-secrets.ts";

/** The agent's own cluster, among those that it knows. */
export const AGENT_CLUSTER = "here";

/** The namespace comes by another Work. */
const NAMESPACE_MS = 500;

/** Kinds that a Work's deletion removes. Namespaces stay, as where the hub calls the cluster. */
export const REMOVED_KINDS: readonly ResourceRef[] = [LRP, TaskRun, RouteBinding];

type Manifest = NonNullable<ReturnType<typeof manifestOf>>;

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

async function reconcileWork(work: Work, { clusters, client, now: _now }: ReconcileContext): Promise<ReconcileResult> {
  const here = clusters.find(AGENT_CLUSTER);
  if (!here) return { keepStatus: true };
  const manifest = manifestOf(work);
  if (!manifest || manifest.metadata.labels?.[LABELS.hub] !== clusters.markers?.hub)
    throw new NotReady("Malformed", "this Work holds no object of the platform that the agent may make", {
      isFailure: true,
    });
  if (manifest.kind === Namespace.kind)
    return { remote: { owner: work.metadata.name, children: {}, ensured: { [AGENT_CLUSTER]: [manifest] } } };
  requireNamespace(here, manifest);
  const ref = findWorkKind(manifest.kind ?? "");
  const found = ref && here.listOwned(ref, work.metadata.name)[0];
  const secrets = found ? [] : await copySecrets(work, manifest, client);
  return {
    remote: {
      owner: work.metadata.name,
      children: { [AGENT_CLUSTER]: [manifest] },
      ensured: { [AGENT_CLUSTER]: secrets },
    },
    status: { ...toWorkStatus(manifest.kind ?? "", found?.["status"]) },
  };
}

function requireNamespace({ read }: RemoteCluster, { metadata: { namespace = "" } }: Manifest): void {
  if (read.find(Namespace, { name: namespace })) return;
  throw new NotReady("NamespaceMissing", `namespace ${namespace} of the platform does not exist on this cluster yet`, {
    requeueAfterMs: NAMESPACE_MS,
  });
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
      return {
        apiVersion: apiVersionOf(Secret),
        kind: Secret.kind,
        metadata: { namespace, name, labels: copy.metadata.labels ?? {} },
        ...(copy.type !== undefined && { type: copy.type }),
        data: copy.data ?? {},
        immutable: true,
      };
    }),
  );
}

/** Only what the hub tells to remove goes: a Work may be deleted by accident, with its namespace, for example. */
function finalizeWork(work: Work, { clusters }: ReconcileContext): FinalizeResult {
  const ref = findWorkKind(work.spec.kind);
  if (!work.spec.remove || !ref || !REMOVED_KINDS.includes(ref)) return undefined;
  const here = clusters.find(AGENT_CLUSTER);
  if (!here) return { keepStatus: true, ready: { status: "False", reason: "Unreadable", message: "" } };
  const left: KubeObject[] = here.listOwned(ref, work.metadata.name);
  if (left.length === 0) return undefined;
  return {
    remote: { owner: work.metadata.name, children: { [AGENT_CLUSTER]: [] } },
    status: toWorkStatus(work.spec.kind, left[0]?.["status"]),
    ready: { status: "False", reason: "Stopping", message: "the object ends" },
  };
}
