// Bindings of user-provided instances as Provisioned Services (servicebinding.io): a Secret with the instance's credentials, which status.binding names.
import { isDeepStrictEqual } from "node:util";
import { LABELS } from "../../crds/labels.ts";
import { bindingSecretName, toBindingData } from "../../crds/service-binding/binding-secret.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { INSTANCE_INDEX, indexByInstance, instanceKey } from "../shared/binding-index.ts";
import { whileSecretsAllowed } from "../shared/env-snapshot.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { putOwnSecret } from "../shared/own-secret.ts";
import { readInstanceContent } from "../shared/services-snapshot.ts";

/** The label that VCAP_SERVICES has for them. */
const TYPE = "user-provided";

/** No informer watches Secrets: this long after a change of the instance, whose Secret is written after it, and else so seldom, it is read again. */
const SOON_MS = 3_000;
const SELDOM_MS = 300_000;
const MAX_SEEN = 10_000;

export function userProvidedBindingController(): Controller {
  /** Generations of instances by the uid of their binding. */
  const seen = new Map<string, number>();
  return defineController({
    name: "user-provided-binding",
    kind: "singleton",
    for: ServiceBinding,
    // As that of bindings of managed instances: Ready is the other controller's.
    condition: "Provided",
    indexes: { [GUID_INDEX]: indexByGUID, [INSTANCE_INDEX]: indexByInstance },
    watches: [
      watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
    ],
    permissions: [{ resource: Secret, verbs: ["get", "create", "patch"] }],

    async reconcile(binding, context) {
      const instance = findInstance(binding, context.read);
      if (!instance) return { keepStatus: true };
      const name = await keepCredentials(binding, instance, context);
      return { status: { binding: { name } }, requeueAfterMs: noteGeneration(seen, binding, instance) };
    },
  });
}

/** Returns how long to wait until the next look. */
function noteGeneration(seen: Map<string, number>, binding: ServiceBinding, instance: ServiceInstance): number {
  const { uid = "" } = binding.metadata;
  const { generation = 0 } = instance.metadata;
  const isSame = seen.get(uid) === generation;
  if (seen.size >= MAX_SEEN) seen.clear();
  seen.set(uid, generation);
  return isSame ? SELDOM_MS : SOON_MS;
}

/** Undefined for a binding that is not of a user-provided instance of its space. */
function findInstance(binding: ServiceBinding, read: Reader): ServiceInstance | undefined {
  const at = { namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name };
  const instance = binding.spec.type === "app" ? read.find(ServiceInstance, at) : undefined;
  const isOwn = instance && instance.spec.type !== "managed" && isWithin(instance, binding.metadata.namespace);
  return isOwn ? instance : undefined;
}

/** Written where it differs. @throws NotReady without the instance's credentials, or where another Secret has the name */
async function keepCredentials(
  binding: ServiceBinding,
  instance: ServiceInstance,
  context: ReconcileContext,
): Promise<string> {
  const { namespace = "" } = binding.metadata;
  const name = bindingSecretName(binding.metadata.name);
  const { guid } = resolveGUID(ServiceBinding, binding, context);
  await whileSecretsAllowed(namespace, async () => {
    const instanceGUID = resolveGUID(ServiceInstance, instance, context).guid;
    const data = toBindingData(await readInstanceContent(instance, instanceGUID, context.client), TYPE);
    const before = await context.client.find(Secret, { namespace, name });
    const isOwn = before?.metadata.labels?.[LABELS.serviceBinding] === guid;
    if (isOwn && isDeepStrictEqual({ ...before.data }, data)) return;
    const label = { key: LABELS.serviceBinding, guid };
    // A merge patch takes no credential away by itself.
    const gone = Object.fromEntries(Object.keys((isOwn && before.data) || {}).map((key) => [key, null]));
    const secret = {
      name,
      type: `servicebinding.io/${TYPE}`,
      label,
      data: { ...gone, ...data } as Record<string, string>,
    };
    await putOwnSecret({ ref: ServiceBinding, object: binding }, secret, context);
  });
  return name;
}
