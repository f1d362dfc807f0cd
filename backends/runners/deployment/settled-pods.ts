// The pods of an LRP for one reconcile. Of a large LRP they are read after a pause, since each reconcile looks at all of them.
import { setTimeout as delay } from "node:timers/promises";
import { LABELS } from "../../../crds/labels.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { Pod } from "../../../kube/api/builtin.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import type { PodObject } from "../../pods/slim-pod.ts";

/** Pods for which a reconcile waits a millisecond, so that one reconcile sees the changes of several. */
const PODS_PER_MS = 5;
const MAX_PAUSE_MS = 200;

/** Waits first while the LRP has many. The pods of most are there at once. */
export async function readSettledPods({ metadata }: LRP, read: Pick<Reader, "list">): Promise<readonly PodObject[]> {
  const { namespace = "", name } = metadata;
  const list = (): readonly PodObject[] => read.list(Pod, { namespace, labels: { [LABELS.lrp]: name } });
  const pods = list();
  const pauseMs = Math.min(MAX_PAUSE_MS, Math.floor(pods.length / PODS_PER_MS));
  if (pauseMs === 0) return pods;
  await delay(pauseMs);
  return list();
}
