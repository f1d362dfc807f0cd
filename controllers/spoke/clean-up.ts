// On a spoke: removes the Secrets of variables that nothing there uses any more, and namespaces that the hub made and in which it has nothing left.
import { LRUCache } from "lru-cache";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import { defineController, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { secretsOf } from "../shared/cluster-secrets.ts";
import { whileSecretsAllowed } from "../shared/env-snapshot.ts";
import { planCleanUp, UNUSED_MS, type CleanUpInput, type Leftover, type UnusedSince } from "./clean-up-plan.ts";
import { isOfHub } from "./plan.ts";

/** Kinds whose objects use a namespace; those of the first two use Secrets, too. */
const USERS = [LRP, TaskRun, RouteBinding] as const;
/** Secrets that one look reads; the next ones come when these are gone. */
const MAX_SECRETS = 500;
/** Namespaces whose leftovers are remembered. Those of the others stay. */
const MAX_NAMESPACES = 10_000;
const DEADLINE_MS = 15_000;

type Contents = Pick<CleanUpInput, "used" | "contents">;

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
    permissions: [
      { resource: Secret, verbs: ["list", "delete"] },
      { resource: Namespace, verbs: ["delete"] },
    ],

    async reconcile(namespace, context) {
      const { name } = namespace.metadata;
      const secrets = await whileSecretsAllowed(name, () => listSecrets(namespace, context.client));
      const plan = planCleanUp(remembered.get(name) ?? new Map<string, number>(), {
        namespace: isLent(namespace) ? undefined : toLeftover(namespace),
        secrets,
        now: context.now().getTime(),
        ...readContents(name, context),
      });
      const isGone = await remove(plan, name, context);
      if (isGone) remembered.delete(name);
      else remembered.set(name, plan.unused);
      return { requeueAfterMs: UNUSED_MS };
    },
  });
}

/** Somebody consented to its use, so it is not the hub's to end. */
function isLent({ metadata }: KubeObject): boolean {
  return metadata.labels?.[LABELS.adoptableBy] !== undefined;
}

function toLeftover({ metadata: { name, uid = "" } }: KubeObject): Leftover {
  return { name, uid };
}

async function listSecrets({ metadata }: KubeObject, client: KubeClient): Promise<Leftover[]> {
  const { items } = await client.list(Secret, {
    namespace: metadata.name,
    labelSelector: `${LABELS.hub}=${metadata.labels?.[LABELS.hub] ?? ""}`,
    limit: MAX_SECRETS,
    deadlineMs: DEADLINE_MS,
  });
  return items.map(toLeftover);
}

/** @throws NotSynced, NotPermitted while a cache cannot be read: nothing is removed then */
function readContents(namespace: string, { read }: Pick<ReconcileContext, "read">): Contents {
  return toContents(USERS.map((ref: ResourceRef) => read.list(ref, { namespace })));
}

function toContents([lrps = [], runs = [], bindings = []]: readonly (readonly KubeObject[])[]): Contents {
  return {
    used: new Set([...lrps, ...runs].flatMap((one) => secretsOf(one as unknown as Draft))),
    contents: lrps.length + runs.length + bindings.length,
  };
}

/** Asks the API server once more, since an LRP may just have come. Resolves to whether the namespace has gone. */
async function remove(
  { secrets, namespace }: Pick<ReturnType<typeof planCleanUp>, "secrets" | "namespace">,
  name: string,
  { client, log }: Pick<ReconcileContext, "client" | "log">,
): Promise<boolean> {
  if (secrets.length === 0 && !namespace) return false;
  const options = { namespace: name, deadlineMs: DEADLINE_MS };
  const lists = await Promise.all(USERS.map((ref: ResourceRef) => client.list(ref, options)));
  const { used, contents } = toContents(lists.map(({ items }) => items));
  for (const secret of secrets)
    if (!used.has(secret.name)) await deleteExactly(client, Secret, { ...secret, namespace: name });
  if (!namespace || contents > 0) return false;
  log.info({ namespace: name }, "a namespace of the hub has had nothing of it for ten minutes, and goes");
  await deleteExactly(client, Namespace, namespace);
  return true;
}

async function deleteExactly(
  client: KubeClient,
  ref: ResourceRef,
  { uid, ...key }: Leftover & { namespace?: string },
): Promise<void> {
  try {
    await client.delete(ref, key, { preconditions: { uid }, deadlineMs: DEADLINE_MS });
  } catch (error) {
    // Already deleted, or replaced by another object of the same name.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
