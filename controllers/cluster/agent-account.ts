// Takes the rights of a pull cluster's agent back: its tokens end with its account.
import { AGENT_ACCOUNT, clusterNamespace } from "../../crds/work/names.ts";
import { ServiceAccount } from "../../kube/api/builtin.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { ignoreNotFound } from "../../kube/client/ignore-gone.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";

const DEADLINE_MS = 10_000;

/** A cluster that an earlier release added gives the platform no right to do so. */
export async function revokeAgent(
  cluster: string,
  { client, log }: Pick<ReconcileContext, "client" | "log">,
): Promise<void> {
  const key = { namespace: clusterNamespace(cluster), name: AGENT_ACCOUNT };
  try {
    await ignoreNotFound(client.delete(ServiceAccount, key, { deadlineMs: DEADLINE_MS }));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    log.warn(
      { cluster },
      `the agent of a deleted cluster keeps its account, which the platform may not delete: cup clusters forget ${cluster}`,
    );
  }
}
