// Keeps a copy of the registry's pull Secret in every space's namespace, so that nodes can pull the images of apps.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Space } from "../../crds/space/space.ts";
import { Event, Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isNotFound } from "../../kube/client/errors.ts";
import {
  defineController,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import type { EventDraft } from "../../kube/controller/event-recorder.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { whileSecretsAllowed } from "./env-snapshot.ts";

type SecretObject = ObjectOf<typeof Secret>;

const NAME = "registry-secret";
/** No informer watches Secrets, so a change of the original arrives within this time. */
const RECHECK_MS = 50_000;
/** How long one read of the original serves all spaces of this process; with the recheck, less than a minute. */
const SOURCE_TTL_MS = 5_000;

const PERMISSIONS: readonly Permission[] = [
  { resource: Secret, verbs: ["get", "create", "patch"] },
  { resource: Event, verbs: ["get", "create", "patch"] },
];

export function registrySecretController(): Controller {
  const readSource = cachedSource();
  return defineController({
    name: NAME,
    for: Space,
    writesStatus: false,
    permissions: PERMISSIONS,
    // The namespace's name in the status is an event of the Space.
    reconcile: async (space, context) =>
      space.status?.namespace === undefined
        ? {}
        : keepCopy({ object: space, namespace: space.status.namespace }, readSource, context),
  });
}

/** The same on a spoke, for the namespaces that `isOfHub` names. The Secret is the spoke's own: that of the hub never crosses clusters. */
export function spokeRegistrySecretController(isOfHub: (namespace: KubeObject) => boolean): Controller {
  const readSource = cachedSource();
  return defineController({
    name: NAME,
    for: Namespace,
    selects: isOfHub,
    writesStatus: false,
    writesObject: false,
    permissions: PERMISSIONS,
    reconcile: (namespace, context) =>
      whileSecretsAllowed(namespace.metadata.name, () =>
        keepCopy({ object: namespace, namespace: namespace.metadata.name }, readSource, context),
      ),
  });
}

type ReadSource = ReturnType<typeof cachedSource>;

async function keepCopy(
  { object, namespace }: { object: KubeObject; namespace: string },
  readSource: ReadSource,
  { client, now, recordEvent }: Pick<ReconcileContext, "client" | "now" | "recordEvent">,
): Promise<ReconcileResult> {
  const source = await readSource(client, now());
  if (source) await copyTo(namespace, source, client);
  else if (isOurCopy(await client.find(Secret, { namespace, name: REGISTRY_SECRET }))) recordEvent(object, SOURCE_GONE);
  return { requeueAfterMs: RECHECK_MS };
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
