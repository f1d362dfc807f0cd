// Changes of a namespace's objects and their times, as a client sees them by watches.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Change } from "./phases.ts";

export interface Recorder {
  /** In the order of their arrival, of each kind. */
  changes: Change[];
  stop(): Promise<void>;
}

/** Milliseconds since 1970, in fractions, as clocks of other programs of this machine count. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/** Records every change from now on. */
export async function recordChanges(
  client: KubeClient,
  namespace: string,
  refs: readonly ResourceRef[],
): Promise<Recorder> {
  const abort = new AbortController();
  const changes: Change[] = [];
  const record = async (ref: ResourceRef, from: string): Promise<void> => {
    let resourceVersion = from;
    while (!abort.signal.aborted) {
      for await (const event of client.watch<KubeObject>(ref, { namespace, resourceVersion, signal: abort.signal })) {
        if (event.type === "ERROR") throw new Error(`the watch of ${ref.plural} ended: ${event.object.message}`);
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
        if (event.type !== "BOOKMARK")
          changes.push({ at: wallClock(), type: event.type, kind: ref.kind, object: event.object });
      }
    }
  };
  const versions = await Promise.all(
    refs.map(async (ref) => (await client.list(ref, { namespace, metadata: true })).metadata.resourceVersion),
  );
  const watches = refs.map((ref, at) =>
    record(ref, versions[at] ?? "").catch((error: unknown) => {
      if (!abort.signal.aborted) throw error;
    }),
  );
  return {
    changes,
    async stop() {
      abort.abort();
      await Promise.all(watches);
    },
  };
}
