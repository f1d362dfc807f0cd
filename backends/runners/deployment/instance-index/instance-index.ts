// The operation instance-index: gives each gated pod of class `deployment` its index, and replaces pods whose index is not wanted.
// A single replica acts (docs/adr/0016). Its writes count before its cache shows them, so no index is given twice.
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { KubeObject } from "../../../../kube/api/object.ts";
import { Pod } from "../../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../../kube/client/client.ts";
import { isNotFound } from "../../../../kube/client/errors.ts";
import {
  defineController,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
  type WatchRule,
} from "../../../../kube/controller/controller.ts";
import { createFaultLog } from "../../../../kube/controller/fault-log.ts";
import { LABELS } from "../../../../crds/labels.ts";
import { LRP } from "../../../../crds/lrp/lrp.ts";
import { keptEvictions, timeLeft, waitAfter } from "../../../pods/evictions.ts";
import { isLive, isPodReady, hasStartedOrFailed } from "../../../pods/pod-progress.ts";
import { deletePod } from "../../../pods/pod-writes.ts";
import { POD_SELECTOR, watchPods, type PodObject } from "../../../pods/slim-pod.ts";
import { DEPLOYMENT_CLASS } from "../class-name.ts";
import { planIndexes, type IndexedPod } from "./index-plan.ts";
import { indexLabelOf, isGated, planGatePatch } from "./open-gate.ts";
import { createSentIndexes, type SentIndexes } from "./sent-indexes.ts";

/** Requests at the same time: two of the client's 32 connections are left for the Lease. */
const CONCURRENCY = 30;
/** Reconciles at the same time. They only plan: requests are sent beside them, so that a new pod never waits for those before it. */
const WORKERS = 64;
/** A request that takes longer counts as lost: it is sent again, with the same index. Long, since an API server is slowest when it has most to do, and each lost request and its new connection are more work for it. */
const REQUEST_DEADLINE_MS = 15_000;
/** How long the end of a term waits for answers: the next leader waits for it. */
const STOP_DEADLINE_MS = 3_000;
const TAKE_OVER_DEADLINE_MS = 20_000;
/** When a request has failed, or its result may be lost. */
const RETRY_MS = 1_000;
/** Instances for which a reconcile waits a millisecond: it reads all pods of its LRP. */
const INSTANCES_PER_MS = 50;
const MAX_PAUSE_MS = 20;
/** Pods whose answers are remembered until the cache shows them. */
const MAX_NEXT_ATTEMPTS = 10_000;

/** The watches that a standby keeps warm. */
export const INSTANCE_INDEX_WATCHES: readonly WatchRule[] = [watchPods()];

/** The work of one term. */
export interface InstanceIndexWork {
  controllers: readonly Controller[];
  /** Learns the indexes that the last leader gave and this cache may not show yet. @throws KubeError, and then nothing may start */
  start(): Promise<void>;
  /** Resolves when no request is under way: soon, since those that are not answered in time are aborted. */
  stop(): Promise<void>;
}

export function createInstanceIndex(client: Pick<KubeClient, "list">): InstanceIndexWork {
  const sent = createSentIndexes();
  const opener = createGateOpener(sent);
  return {
    controllers: [instanceIndexController(sent, opener)],
    async start() {
      const { items } = await client.list(Pod, {
        labelSelector: POD_SELECTOR,
        metadata: true,
        deadlineMs: TAKE_OVER_DEADLINE_MS,
      });
      for (const pod of items) {
        const index = indexLabelOf(pod);
        if (index !== undefined && isLive(pod)) sent.recordUnseen(lrpKeyOf(pod), pod.metadata.uid ?? "", index);
      }
    },
    stop: () => opener.stop(),
  };
}

function lrpKeyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.labels?.[LABELS.lrp]}`;
}

function instanceIndexController(sent: SentIndexes, opener: GateOpener): Controller {
  return defineController({
    name: "instance-index",
    kind: "singleton",
    for: LRP,
    selects: (lrp) => lrp.spec.class === DEPLOYMENT_CLASS,
    watches: INSTANCE_INDEX_WATCHES,
    writesStatus: false,
    writesObject: false,
    permissions: [{ resource: Pod, verbs: ["patch", "delete"] }],
    workers: WORKERS,
    reconcile: (lrp, context) => reconcilePods(lrp, context, { sent, opener }),
  });
}

async function reconcilePods(
  lrp: LRP,
  context: ReconcileContext,
  { sent, opener }: { sent: SentIndexes; opener: GateOpener },
): Promise<ReconcileResult> {
  const { namespace = "", name } = lrp.metadata;
  const key = `${namespace}/${name}`;
  await collectEvents(lrp.spec.instances);
  const pods = context.read.list(Pod, { namespace, labels: { [LABELS.lrp]: name } });
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const reserved = sent.reconcile(
    key,
    new Map(pods.map((pod) => [pod.metadata.uid ?? "", isGated(pod) && isLive(pod)])),
  );
  const plan = planIndexes(
    pods.map((pod) => toIndexedPod(pod, sent.find(key, pod.metadata.uid ?? ""))),
    lrp.spec,
    reserved,
  );
  const evictions = keptEvictions(pods, indexLabelOf);
  const looks = plan.assign.map(({ uid, index }) => {
    const pod = byUid.get(uid);
    const leftMs = pod ? timeLeft(pod, waitAfter(evictions.get(index) ?? [], pod), context.now()) : 0;
    if (leftMs > 0) return leftMs;
    sent.record(key, uid, index);
    if (pod) opener.open(pod, index, context);
    return RETRY_MS;
  });
  const surplus = plan.replace === undefined ? undefined : byUid.get(plan.replace);
  if (surplus) await replace(surplus, context);
  return looks.length > 0 ? { requeueAfterMs: Math.min(...looks) } : {};
}

/** Lets more pods of the LRP arrive: a reconcile for each of a thousand pods, each over a thousand pods, would take seconds. */
async function collectEvents(instances: number): Promise<void> {
  const pauseMs = Math.min(MAX_PAUSE_MS, Math.floor(instances / INSTANCES_PER_MS));
  await (pauseMs > 0 ? delay(pauseMs) : nextTurn());
}

function toIndexedPod(pod: PodObject, sentIndex: number | undefined): IndexedPod {
  const { uid = "", name, creationTimestamp = "" } = pod.metadata;
  const gated = isGated(pod);
  return {
    uid,
    name,
    createdAt: creationTimestamp,
    // A label on a gated pod is not ours: gate and label change together.
    index: sentIndex ?? (gated ? undefined : indexLabelOf(pod)),
    gated,
    live: isLive(pod),
    ready: isPodReady(pod),
    startedOrFailed: !gated && hasStartedOrFailed(pod),
  };
}

/** Its ReplicaSet makes a new pod, which gets a lower index. */
async function replace(pod: PodObject, context: ReconcileContext): Promise<void> {
  const { namespace, name, labels } = pod.metadata;
  context.log.info({ pod: `${namespace}/${name}`, index: labels?.[LABELS.instanceIndex] }, "replacing a pod");
  await deletePod(pod, context);
}

interface GateOpener {
  /** Sends the request unless it is under way, was answered, or failed within the last second. Returns at once; a failure is logged. */
  open(pod: PodObject, index: number, context: ReconcileContext): void;
  /** As InstanceIndexWork.stop. */
  stop(): Promise<void>;
}

function createGateOpener(sent: SentIndexes): GateOpener {
  const limit = pLimit(CONCURRENCY);
  const stopping = new AbortController();
  const options = { deadlineMs: REQUEST_DEADLINE_MS, signal: stopping.signal };
  const underWay = new Map<string, Promise<void>>();
  /** Uids of pods whose gate is open, or that had a failed request, and when to send another one: the cache shows the rest. */
  const nextAttempts = new LRUCache<string, number>({ maxSize: MAX_NEXT_ATTEMPTS, sizeCalculation: () => 1 });
  let logFault: ReturnType<typeof createFaultLog> | undefined;
  const send = async (pod: PodObject, index: number, { client, log }: ReconcileContext): Promise<void> => {
    const { namespace = "", name, uid = "" } = pod.metadata;
    try {
      await client.patch(Pod, { namespace, name }, planGatePatch(pod, index), options);
      nextAttempts.set(uid, Infinity);
    } catch (error) {
      if (isNotFound(error)) return sent.forget(lrpKeyOf(pod), uid);
      nextAttempts.set(uid, performance.now() + RETRY_MS);
      logFault ??= createFaultLog(log);
      logFault(`${namespace}/${name}`, error);
    }
  };
  return {
    open(pod, index, context) {
      const { uid = "" } = pod.metadata;
      if (underWay.has(uid) || performance.now() < (nextAttempts.get(uid) ?? 0)) return;
      underWay.set(
        uid,
        limit(() => send(pod, index, context)).finally(() => underWay.delete(uid)),
      );
    },
    async stop() {
      const timer = setTimeout(() => stopping.abort(), STOP_DEADLINE_MS);
      await Promise.all(underWay.values());
      clearTimeout(timer);
    },
  };
}
