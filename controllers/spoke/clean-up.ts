// On a spoke: removes the Secrets of variables that nothing there uses any more. Namespaces stay: others may keep data in them, which the agent may not see.
import { LRUCache } from "lru-cache";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import { defineController, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { secretsOf } from "../shared/cluster-secrets.ts";
import { whileSecretsAllowed } from "../shared/env-snapshot.ts";
import { planCleanUp, UNUSED_MS, type Leftover, type UnusedSince } from "./clean-up-plan.ts";
import { isOfHub } from "./plan.ts";

/** Kinds whose objects use Secrets. */
const USERS = [LRP, TaskRun] as const;
/** Namespaces whose leftovers are remembered. Those of the others stay. */
const MAX_NAMESPACES = 10_000;
const DEADLINE_MS = 15_000;

/** Looks at each namespace now and then: no informer watches Secrets. */
export function spokeCleanUpController(): Controller {
  const remembered = new LRUCache<string, UnusedSince>({ max: MAX_NAMESPACES });
  return defineController({
    name: "spoke-clean-up",
    for: Namespace,
    selects: isOfHub,
    reads: USERS,
    writesStatus: false,
    writesObject: false,
    workers: 1,
    permissions: [{ resource: Secret, verbs: ["list", "delete"] }],

    async reconcile(namespace, context) {
      const { name } = namespace.metadata;
      const secrets = await whileSecretsAllowed(name, () => listSecrets(namespace, context.client));
      const plan = planCleanUp(remembered.get(name) ?? new Map<string, number>(), {
        secrets,
        used: namesOf(USERS.map((ref: ResourceRef) => context.read.list(ref, { namespace: name }))),
        now: context.now().getTime(),
      });
      if (plan.remove.length > 0) await remove(plan.remove, name, context);
      remembered.set(name, plan.unused);
      return { requeueAfterMs: UNUSED_MS };
    },
  });
}

async function listSecrets({ metadata }: KubeObject, client: KubeClient): Promise<Leftover[]> {
  const { items } = await client.list(Secret, {
    namespace: metadata.name,
    labelSelector: `${LABELS.hub}=${metadata.labels?.[LABELS.hub] ?? ""}`,
    // Without their values.
    metadata: true,
    deadlineMs: DEADLINE_MS,
  });
  return items.map(({ metadata: { name, uid = "" } }) => ({ name, uid }));
}

function namesOf(users: readonly (readonly KubeObject[])[]): Set<string> {
  return new Set(users.flat().flatMap((user) => secretsOf(user as unknown as Draft)));
}

/** Asks the API server once more, since an LRP may just have come. */
async function remove(
  secrets: readonly Leftover[],
  namespace: string,
  { client }: Pick<ReconcileContext, "client">,
): Promise<void> {
  const lists = await Promise.all(
    USERS.map((ref: ResourceRef) => client.list(ref, { namespace, deadlineMs: DEADLINE_MS })),
  );
  const used = namesOf(lists.map(({ items }) => items));
  for (const { name, uid } of secrets)
    if (!used.has(name))
      await ignoreGone(client.delete(Secret, { namespace, name }, { preconditions: { uid }, deadlineMs: DEADLINE_MS }));
}
