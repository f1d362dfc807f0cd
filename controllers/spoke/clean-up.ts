// On a spoke: removes the Secrets of variables that nothing there uses any more. Namespaces stay: others may keep data in them, which the agent may not see.
import { LRUCache } from "lru-cache";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf, type ObjectOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
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
/** Secrets that are removed before the users are asked for again. */
const AT_A_TIME = 20;
const CALL = { deadlineMs: 15_000 };

type SecretObject = ObjectOf<typeof Secret>;

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
    permissions: [{ resource: Secret, verbs: ["get", "list", "create", "delete"] }],

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
    ...CALL,
  });
  return items.map(({ metadata: { name, uid = "" } }) => ({ name, uid }));
}

function namesOf(users: readonly (readonly KubeObject[])[]): Set<string> {
  return new Set(users.flat().flatMap((user) => secretsOf(user as unknown as Draft)));
}

/** Asks the API server before and after, since an LRP may just have come: the hub finds a Secret there, and makes the LRP that uses it. */
async function remove(
  unused: readonly Leftover[],
  namespace: string,
  { client }: Pick<ReconcileContext, "client">,
): Promise<void> {
  const used = await listUsed(namespace, client);
  const secrets = unused.filter(({ name }) => !used.has(name));
  for (let first = 0; first < secrets.length; first += AT_A_TIME)
    await removeSome(secrets.slice(first, first + AT_A_TIME), namespace, client);
}

/** Makes those again that are used by now, and all where that is not known. */
async function removeSome(secrets: readonly Leftover[], namespace: string, client: KubeClient): Promise<void> {
  const removed: SecretObject[] = [];
  let used: ReadonlySet<string> | undefined;
  try {
    for (const secret of secrets) {
      const found = await removeOne(secret, namespace, client);
      if (found) removed.push(found);
    }
    used = await listUsed(namespace, client);
  } finally {
    const kept = removed.filter(({ metadata }) => used?.has(metadata.name) ?? true);
    await Promise.all(kept.map((secret) => restore(secret, client)));
  }
}

/** Returns what it was. */
async function removeOne(
  { name, uid }: Leftover,
  namespace: string,
  client: KubeClient,
): Promise<SecretObject | undefined> {
  const found = await client.find(Secret, { namespace, name }, CALL);
  if (found?.metadata.uid !== uid) return undefined;
  await ignoreGone(client.delete(Secret, { namespace, name }, { preconditions: { uid }, ...CALL }));
  return found;
}

async function restore({ metadata, type, data, immutable }: SecretObject, client: KubeClient): Promise<void> {
  const { namespace, name, labels } = metadata;
  const draft = {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: { ...(namespace !== undefined && { namespace }), name, ...(labels && { labels }) },
    ...omitUndefined({ type, data, immutable }),
  };
  await client.create(Secret, draft, CALL).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

async function listUsed(namespace: string, client: KubeClient): Promise<Set<string>> {
  const lists = await Promise.all(USERS.map((ref: ResourceRef) => client.list(ref, { namespace, ...CALL })));
  return namesOf(lists.map(({ items }) => items));
}
