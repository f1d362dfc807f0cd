// The Kubernetes API as `cup` uses it for objects that the CF API does not show: policies, workloads, adjustments.
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { loadKubeconfig, type KubeconfigOptions } from "../../kube/client/kubeconfig.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { Process } from "../../crds/process/process.ts";
import { POLICY_ADMIN, POLICY_AUTHOR, POLICY_READER, SPACE_NATIVE, SPACE_TWEAK } from "../../crds/roles.ts";
import { toUnreachable } from "../api/unreachable.ts";
import { Failure } from "../failure.ts";
import { resolveTarget } from "../target/resolve-target.ts";

/** Calls the cluster with the kubeconfig user of the target, else with kubectl's current context. @throws Failure */
export async function withCluster<T>(action: (kube: KubeClient) => Promise<T>): Promise<T> {
  const access = await loadKubeconfig(chooseKubeconfig()).catch((cause: unknown) => {
    throw new Failure(cause instanceof Error ? cause.message : "the kubeconfig cannot be used", {
      kind: "target",
      next: "cup local start, cup login --api URL, or set KUBECONFIG",
      cause,
    });
  });
  const kube = createClient({ ...access, userAgent: "cup", fieldManager: "cup" });
  try {
    return await action(kube);
  } catch (error) {
    throw error instanceof KubeError ? toFailure(error, kube.server) : error;
  } finally {
    await kube.close();
  }
}

function chooseKubeconfig(): KubeconfigOptions {
  try {
    const { kubeconfig, user } = resolveTarget();
    return { ...(kubeconfig !== undefined && { path: kubeconfig }), ...(user !== undefined && { context: user }) };
  } catch (error) {
    if (error instanceof Failure && error.kind === "target") return {};
    throw error;
  }
}

/** The answer of the API server in our form. */
export function toFailure(error: KubeError, server: string): Failure {
  if (error.code === 0) return toUnreachable(server, rootCause(error));
  if (error.code === 401) return new Failure(error.message, { kind: "target", next: "cup login", cause: error });
  const next = error.code === 403 ? adviseRole(error) : undefined;
  return new Failure(error.message, { cause: error, ...(next !== undefined && { next }) });
}

/** ClusterRoles that an admin binds; other refusals are about the space. */
function adviseRole({ details }: KubeError): string | undefined {
  if (details?.group === CONSTRAINTS_GROUP)
    return `ask an admin for the ClusterRole ${POLICY_ADMIN}, which writes constraints, or ${POLICY_READER}`;
  if (details?.kind === Adjustment.plural)
    return `ask an admin to bind the ClusterRole ${SPACE_TWEAK} to you in the space's namespace`;
  if (details?.kind === Process.plural)
    return `the ClusterRole ${SPACE_NATIVE} lets people take workloads over, beside SpaceDeveloper; ask an admin to bind it in the space's namespace`;
  return details?.kind === PolicyTemplate.plural
    ? `ask an admin for the ClusterRole ${POLICY_AUTHOR}, which writes templates, or ${POLICY_READER}`
    : undefined;
}

function rootCause(error: Error): unknown {
  return error.cause instanceof KubeError ? rootCause(error.cause) : (error.cause ?? error);
}
