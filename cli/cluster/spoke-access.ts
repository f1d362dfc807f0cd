// A client of another cluster, by a context of a kubeconfig of the caller.
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { loadKubeconfig, type KubeconfigAccess } from "../../kube/client/kubeconfig.ts";
import { Failure } from "../failure.ts";

export const FIELD_MANAGER = "cup";

export interface SpokeContext {
  kubeconfig?: string;
  context?: string;
}

/** Closes the client afterwards. `next`: what to do when the cluster refuses. @throws Failure that names the context */
export async function withSpoke<T>(
  { kubeconfig, context }: SpokeContext,
  action: (spoke: KubeClient, access: KubeconfigAccess) => Promise<T>,
  next: string,
): Promise<T> {
  const access = await loadKubeconfig({
    ...(kubeconfig !== undefined && { path: kubeconfig }),
    ...(context !== undefined && { context }),
  }).catch((cause: unknown) => {
    throw new Failure(cause instanceof Error ? cause.message : "the kubeconfig cannot be used", {
      kind: "usage",
      next: "name it: --kubeconfig FILE --context CONTEXT",
      cause,
    });
  });
  const spoke = createClient({ ...access, userAgent: "cup", fieldManager: FIELD_MANAGER });
  try {
    return await action(spoke, access);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw new Failure(`the cluster of context ${access.context}: ${error.message}`, { next, cause: error });
  } finally {
    await spoke.close();
  }
}
