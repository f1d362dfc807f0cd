// Every status of the suite's LRPs, in order: for rows about what must never be seen.
import { setTimeout as delay } from "node:timers/promises";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

export interface StatusHistory {
  /** The versions of one LRP, oldest first. */
  of(name: string): readonly LRP[];
  stop(): void;
}

/** Watches from now on. */
export function recordHistory(client: KubeClient, namespace: string): StatusHistory {
  const versions = new Map<string, LRP[]>();
  const stopping = new AbortController();
  const record = async (): Promise<void> => {
    for await (const event of client.watch(LRP, { namespace, signal: stopping.signal })) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      const { name } = event.object.metadata;
      versions.set(name, [...(versions.get(name) ?? []), event.object]);
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // A broken watch begins again with the present objects.
      await record().catch(() => undefined);
      await delay(100, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  void run();
  return { of: (name) => versions.get(name) ?? [], stop: () => stopping.abort() };
}
