// Keeps a copy of the registry's pull Secret in every space's namespace, so that nodes can pull the images of apps.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Space } from "../../crds/space/space.ts";
import { Event, Secret } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isNotFound } from "../../kube/client/errors.ts";
import { defineController, type Controller } from "../../kube/controller/controller.ts";
import type { EventDraft } from "../../kube/controller/event-recorder.ts";

type SecretObject = ObjectOf<typeof Secret>;

const NAME = "registry-secret";
/** No informer watches Secrets, so a change of the original arrives within this time. */
const RECHECK_MS = 50_000;
/** How long one read of the original serves all spaces of this process; with the recheck, less than a minute. */
const SOURCE_TTL_MS = 5_000;

export function registrySecretController(): Controller {
  const readSource = cachedSource();
  return defineController({
    name: NAME,
    for: Space,
    writesStatus: false,
    permissions: [
      { resource: Secret, verbs: ["get", "create", "patch"] },
      { resource: Event, verbs: ["get", "create", "patch"] },
    ],
    async reconcile(space, { client, now, recordEvent }) {
      const namespace = space.status?.namespace;
      // The namespace's name in the status is an event of the Space.
      if (namespace === undefined) return {};
      const source = await readSource(client, now());
      if (source) await copyTo(namespace, source, client);
      else if (isOurCopy(await client.find(Secret, { namespace, name: REGISTRY_SECRET })))
        recordEvent(space, SOURCE_GONE);
      return { requeueAfterMs: RECHECK_MS };
    },
  });
}

/** The copies still serve, but no longer follow the registry's credentials. */
const SOURCE_GONE: EventDraft = {
  type: "Warning",
  reason: "PullSecretGone",
  message: `The Secret ${REGISTRY_SECRET} is gone from ${SYSTEM_NAMESPACE}: spaces keep their copies, and new credentials of the registry reach none. Run helm upgrade, which restores it.`,
};

function isOurCopy(copy: SecretObject | undefined): boolean {
  return copy?.metadata.labels?.[LABELS.managedBy] === NAME;
}

function cachedSource(): (client: KubeClient, now: Date) => Promise<SecretObject | undefined> {
  let last: { at: number; secret: Promise<SecretObject | undefined> } | undefined;
  return (client, now) => {
    if (!last || now.getTime() - last.at > SOURCE_TTL_MS) {
      const secret = client.find(Secret, { namespace: SYSTEM_NAMESPACE, name: REGISTRY_SECRET });
      last = { at: now.getTime(), secret };
      secret.catch(() => (last = undefined));
    }
    return last.secret;
  };
}

async function copyTo(namespace: string, source: SecretObject, client: KubeClient): Promise<void> {
  const copy = await client.find(Secret, { namespace, name: REGISTRY_SECRET });
  const write = planCopy(source, copy);
  try {
    if (write === "create") await client.create(Secret, toCopy(namespace, source));
    if (write === "patch")
      await client.patch(
        Secret,
        { namespace, name: REGISTRY_SECRET },
        { type: "merge", body: { data: toPatch(source, copy) } },
      );
  } catch (error) {
    // Another replica was faster, or the space is being deleted.
    if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
  }
}

/** A Secret of that name without our label is somebody else's choice for the namespace, and stays. */
export function planCopy(source: SecretObject, copy: SecretObject | undefined): "create" | "patch" | undefined {
  if (!copy) return "create";
  if (!isOurCopy(copy)) return undefined;
  return Object.keys(toPatch(source, copy)).length > 0 ? "patch" : undefined;
}

function toCopy(namespace: string, { type, data = {} }: SecretObject): Draft {
  return { metadata: { namespace, name: REGISTRY_SECRET, labels: { [LABELS.managedBy]: NAME } }, type, data };
}

function toPatch({ data = {} }: SecretObject, copy: SecretObject | undefined): Record<string, string | null> {
  const actual = copy?.data ?? {};
  const removed = Object.keys(actual).filter((key) => !(key in data));
  const changed = Object.entries(data).filter(([key, value]) => actual[key] !== value);
  return { ...Object.fromEntries(removed.map((key) => [key, null])), ...Object.fromEntries(changed) };
}
