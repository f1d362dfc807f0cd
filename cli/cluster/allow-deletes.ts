// `cup clusters allow-deletes`: lets the deletions pass that the platform holds because nobody told to delete.
import { Cluster, MAX_ORPHANS } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { confirm } from "../confirm.ts";
import type { Result } from "../output.ts";
import { getCluster } from "./clusters.ts";

export interface AllowOptions {
  force?: boolean;
}

/** `now`: the text that is new with each call. */
export async function allowDeletes(
  kube: KubeClient,
  name: string,
  { force, now }: AllowOptions & { now: Date },
): Promise<Result> {
  const { status } = await getCluster(kube, name);
  const orphans = status?.orphans ?? [];
  const some = orphans.slice(0, 5).map(({ kind, namespace, name: object }) => `${kind} ${namespace}/${object}`);
  const count = orphans.length < MAX_ORPHANS ? String(orphans.length) : `${MAX_ORPHANS} or more`;
  const question =
    orphans.length === 0
      ? `Let apps leave cluster ${name} as their segments say now?`
      : `Delete ${count} objects on cluster ${name} whose owners this platform does not have (${some.join(", ")}${orphans.length > some.length ? ", ..." : ""})?`;
  await confirm(question, force);
  const key = { namespace: SYSTEM_NAMESPACE, name };
  await kube.patch(Cluster, key, { type: "merge", body: { spec: { allowDeletes: now.toISOString() } } });
  return {
    json: { name, orphans: orphans.length },
    text: [
      orphans.length === 0
        ? `No deletion was held on cluster ${name}; apps leave it with their next restart.`
        : `${count} objects on cluster ${name} are being deleted. cup clusters shows when none is left.`,
    ],
  };
}
