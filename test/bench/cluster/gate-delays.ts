// How long pods wait behind their scheduling gate, as a client sees it that has nothing to do with who opens it.
import type { PodObject } from "../../../backends/pods/slim-pod.ts";
import { Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { until } from "../until.ts";

export interface Gates {
  namespace: string;
  /** Pods that `make` leads to. */
  count: number;
  /** `opened`: gates that are open so far. */
  make: (opened: () => number) => Promise<unknown>;
  onAdded?: (pod: PodObject) => void;
}

/** Milliseconds from a pod's creation to its open gate, as another client sees both, sorted. */
export async function measureGateDelays(
  admin: KubeClient,
  { namespace, count, make, onAdded }: Gates,
): Promise<number[]> {
  const { metadata } = await admin.list(Pod, { namespace, metadata: true });
  const created = new Map<string, number>();
  const delays: number[] = [];
  const abort = new AbortController();
  const observe = (type: string, pod: ObjectOf<typeof Pod>): void => {
    const { uid = "" } = pod.metadata;
    const since = created.get(uid);
    if (type === "ADDED") {
      created.set(uid, performance.now());
      onAdded?.(pod as PodObject);
    }
    if (since === undefined || pod.spec?.schedulingGates?.length) return;
    created.delete(uid);
    delays.push(performance.now() - since);
  };
  const watching = (async () => {
    let { resourceVersion } = metadata;
    // kube-apiserver closes the watch of a client that it finds slow, so the next one goes on from where it ended.
    while (!abort.signal.aborted) {
      const options = { namespace, resourceVersion, signal: abort.signal };
      for await (const event of admin.watch<ObjectOf<typeof Pod>>(Pod, options)) {
        if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
        observe(event.type, event.object);
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      }
    }
  })().catch(() => undefined);
  await make(() => delays.length);
  await until(() => Promise.resolve(delays.length >= count), `${count} gates do not open`);
  abort.abort();
  await watching;
  return delays.sort((a, b) => a - b);
}
