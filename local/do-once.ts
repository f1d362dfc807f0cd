// Actions done once on this laptop. The marks are objects of the data they are about, so whoever removes the data starts afresh.
import { ConfigMap } from "../kube/api/builtin.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";

/** `installed`: the manifests are in the cluster. `seeded`: the first org and space are. `hello`: the example was pushed. */
export type MarkName =
  "installed" | "seeded" | "buildpacks" | "substitute-stacks" | "tcp-ports" | "task-runner" | "hello";

/** Does `work` unless the mark has this value, then sets it. Its result; undefined when there was nothing to do. */
export type DoOnce = <T>(name: MarkName, value: string, work: () => Promise<T>) => Promise<T | undefined>;

const KEY = { namespace: SYSTEM_NAMESPACE, name: "cupola-laptop" };

export function createDoOnce(client: KubeClient): DoOnce {
  return async (name, value, work) => {
    const marks = await client.find(ConfigMap, KEY);
    if (marks?.data?.[name] === value) return undefined;
    const result = await work();
    // A field manager for each mark, so that none removes another one.
    const fieldManager = `cupola-laptop-${name}`;
    await client.apply(ConfigMap, { metadata: KEY, data: { [name]: value } }, { fieldManager, force: true });
    return result;
  };
}
