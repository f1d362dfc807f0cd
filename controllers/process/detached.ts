// The workload of a process whose `spec.detached` is set: its LRP is released, and stays as the record of what runs. It is taken back when the field goes.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { Process } from "../../crds/process/process.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReadyDraft, ReconcileContext, ReconcileResult } from "../../kube/controller/controller.ts";
import { findOpenRollout, type AppHistory } from "../shared/rollouts.ts";
import { planLRPUpdate } from "./lrp.ts";
import { desiredInstances } from "./plan.ts";

/** The released LRPs of a process, by their app and type: one that a Rollout made has a process GUID of its own. */
export function listDetached(read: Reader, { metadata, spec }: Process, appGUID: string): LRP[] {
  return read
    .list(LRP, { namespace: metadata.namespace, labels: { [LABELS.app]: appGUID } })
    .filter((lrp) => lrp.spec.detached === true && lrp.spec.processType === spec.type);
}

/** LRPs that are owned, and those that were released before. */
export interface DetachedLRPs {
  owned: readonly LRP[];
  detached: readonly LRP[];
}

interface HandOver {
  app: App;
  history: AppHistory;
  decision: PlacementDecision | undefined;
}

/** Why a process that is to be detached cannot be yet: until it can, its LRPs are maintained as ever. Pure. */
export function findHindrance(
  process: Process,
  { owned, detached }: DetachedLRPs,
  { app, history, decision }: HandOver,
): ReadyDraft | undefined {
  if (!process.spec.detached) return undefined;
  if (decision)
    return hinder("NotSupported", "a process on several clusters cannot be detached; unset spec.detached", true);
  if (owned.length === 0)
    return detached.length === 0 && isStarting(process, app)
      ? hinder("Starting", "it is detached when its instances are being started")
      : undefined;
  if (findOpenRollout(history.rollouts))
    return hinder("RolloutUnderWay", "it is detached when the rollout of its app is over: cup rollout status");
  if (owned.length > 1 || owned.some(({ metadata }) => metadata.deletionTimestamp))
    return hinder("Stopping", "it is detached when instances of one revision alone are left");
  return undefined;
}

/** Between the LRP of the last start and that of the next one. Nothing is started for a process that is detached already. */
function isStarting(process: Process, { spec }: App): boolean {
  const isDetached = process.status?.conditions?.some(({ type, reason }) => type === "Ready" && reason === "Detached");
  return spec.state === "Started" && !isDetached && desiredInstances(process) > 0;
}

function hinder(reason: string, message: string, isFailure?: true): ReadyDraft {
  return { status: "False", reason, message, ...(isFailure && { isFailure }) };
}

/** Releases the LRP of a process that nothing hinders, and leaves one that is released as it is. */
export async function detachProcess(
  { metadata: { namespace = "" } }: Process,
  { owned: [lrp], detached }: DetachedLRPs,
  client: KubeClient,
): Promise<ReconcileResult> {
  if (!lrp) return planDetached(detached[0]);
  // The App's Secrets go with the App, but the pods need them.
  for (const name of secretsOf(lrp)) await releaseSecret(client, { namespace, name });
  await client.patch(LRP, lrp.metadata, { type: "merge", body: toReleased(lrp) });
  // The released LRP enqueues its process.
  return { keepStatus: true };
}

/** The patch that makes an LRP nobody's. Pure. */
export function toReleased({ metadata }: LRP): Record<string, unknown> {
  const uid = metadata.labels?.[LABELS.ownerUid];
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      labels: { [LABELS.ownerUid]: null, [LABELS.managedBy]: null },
      annotations: { [ANNOTATIONS.owner]: null },
      ownerReferences: (metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid),
    },
    spec: { detached: true },
  };
}

/** Names of the Secrets that the pods of an LRP read, and that of the credential by which nodes pull their image. Pure. */
export function secretsOf({ spec }: LRP): string[] {
  const ofVariables = spec.env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []);
  const others = [spec.serviceFiles?.secretRef.name, spec.droplet.imagePullSecretRef?.name];
  return [...new Set([...ofVariables, ...others.filter((name) => name !== undefined)])];
}

async function releaseSecret(client: KubeClient, key: { namespace: string; name: string }): Promise<void> {
  const found = await client.find(Secret, key);
  const owners = found?.metadata.ownerReferences ?? [];
  const others = owners.filter(({ kind }) => kind !== App.kind);
  if (!found || others.length === owners.length) return;
  const { resourceVersion } = found.metadata;
  await client.patch(Secret, key, { type: "merge", body: { metadata: { resourceVersion, ownerReferences: others } } });
}

/** Its instances are people's: they count, and nothing is planned. Pure. */
export function planDetached(lrp: LRP | undefined): ReconcileResult {
  if (!lrp)
    return {
      status: { runningInstances: 0, lrp: undefined, revision: undefined },
      ready: { status: "True", reason: "Detached", message: "it is detached, and nothing runs; cup attach ends that" },
    };
  return {
    status: { runningInstances: lrp.status?.runningInstances ?? 0, lrp: lrp.metadata.name },
    ready: {
      status: "True",
      reason: "Detached",
      message: `its workload ${lrp.metadata.name} is managed by people; cup attach takes it back`,
    },
  };
}

/** Takes released LRPs back. Undefined when there are none, and their runner holds those that came back. */
export function planAttached(
  process: Process,
  { owned, detached }: DetachedLRPs,
  { read }: Pick<ReconcileContext, "read">,
): ReconcileResult | undefined {
  const unheld = owned.filter((lrp) => lrp.spec.detached === false && !isHeld(lrp, read));
  if (detached.length === 0 && unheld.length === 0) return undefined;
  const { restartInstances } = process.spec;
  return {
    children: [...owned, ...detached]
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map((lrp) =>
        planLRPUpdate(
          { ...lrp, spec: { ...lrp.spec, detached: false } },
          { instances: lrp.spec.instances, restartInstances },
        ),
      ),
    ready: { status: "False", reason: "Attaching", message: "its runner takes its workload back" },
  };
}

/** Until its runner holds an LRP again, a deletion would leave pods behind. */
function isHeld({ metadata, spec }: LRP, read: Reader): boolean {
  const finalizer = read.find(BackendClass, { name: spec.class })?.status?.capabilities?.["finalizer"];
  return finalizer === undefined || (metadata.finalizers ?? []).includes(finalizer);
}
