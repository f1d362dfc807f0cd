// Names of what a cluster of mode pull has on the hub: its namespace, its agent's account, and its Works.
import { hash } from "node:crypto";

/** Namespaces of pull clusters begin with it. */
export const CLUSTER_NAMESPACE_PREFIX = "cupola-cluster-";
/** Account of the agent in that namespace, and its Lease there. */
export const AGENT_ACCOUNT = "agent";
export const AGENT_LEASE = "agent";

/** The agent removes it when the object has gone from its cluster. Not of the group cupola.dev: whoever removes one of that must be allowed to delete. */
export const WORK_FINALIZER = "workloads.cupola.dev/agent";
/** Kind of the object, for selectors. */
export const WORK_KIND_LABEL = "workloads.cupola.dev/work-kind";

export function clusterNamespace(cluster: string): string {
  return `${CLUSTER_NAMESPACE_PREFIX}${cluster}`;
}

/** The same for the same object, also after the hub was restored. */
export function workName(kind: string, { namespace, name }: { namespace?: string | undefined; name: string }): string {
  return `${kind.toLowerCase()}-${digest(`${namespace ?? ""}/${name}`)}`;
}

/** Names of copies of Secrets begin with it. */
export const SECRET_COPY_PREFIX = "secret-";

/** The copy of a Secret that an object names, beside its Work. */
export function secretCopyName({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  return `${SECRET_COPY_PREFIX}${digest(`${namespace ?? ""}/${name}`)}`;
}

function digest(text: string): string {
  return hash("sha256", text, "hex").slice(0, 40);
}
