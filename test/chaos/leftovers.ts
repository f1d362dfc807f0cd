// After the last run: what was left behind of all of them. Orgs that were deleted take everything with them, and claims of nobody lapse.
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { retryUntilAcknowledged, RetryableError } from "./retry.ts";
import { filterRunObjects, readCluster } from "./end-state.ts";

/** Resolves with what is still there when nothing goes any more, as lines to read; empty when all of it has gone. */
export async function findLeftovers(kube: KubeClient, prefixes: Iterable<string>): Promise<string[]> {
  let rest: string[] = [];
  try {
    await retryUntilAcknowledged("an empty cluster", async () => {
      const all = await readCluster(kube);
      rest = [...prefixes]
        .flatMap((prefix) => filterRunObjects(all, prefix))
        .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
      if (rest.length > 0) throw new RetryableError(`${rest.length} objects`);
    });
  } catch {
    const stuck = (await kube.list(Namespace)).items
      .filter(({ metadata }) => metadata.deletionTimestamp)
      .map(
        ({ metadata, status }) => `namespace ${metadata.name} is terminating: ${JSON.stringify(status?.conditions)}`,
      );
    return [...rest, ...stuck];
  }
  return [];
}
