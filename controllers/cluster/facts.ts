// Reads the facts that the agent of a cluster keeps there, now and then.
import { LRUCache } from "lru-cache";
import { FACTS_CONFIG, parseFacts, type SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isUnreachable } from "../../kube/client/errors.ts";

/** The agent counts every two minutes. */
const READ_MS = 60_000;
const MAX_CLUSTERS = 1_000;

export interface FactsReader {
  /** Undefined while they are not to be read again, or the cluster does not answer. A cluster whose chart gives no right to read them tells none. */
  read(cluster: string, client: Pick<KubeClient, "find">, now: Date): Promise<SpokeFacts | undefined>;
}

export function createFactsReader(): FactsReader {
  const readAt = new LRUCache<string, number>({ max: MAX_CLUSTERS });
  return {
    async read(cluster, client, now) {
      const last = readAt.get(cluster);
      if (last !== undefined && now.getTime() - last < READ_MS) return undefined;
      readAt.set(cluster, now.getTime());
      try {
        return parseFacts((await client.find(ConfigMap, { namespace: SYSTEM_NAMESPACE, name: FACTS_CONFIG }))?.data);
      } catch (error) {
        if (isForbidden(error)) return {};
        if (isUnreachable(error)) return undefined;
        throw error;
      }
    },
  };
}
