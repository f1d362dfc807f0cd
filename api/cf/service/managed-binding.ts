// Further needs of a managed instance's binding: a plan that allows it, an idle instance, parameters for the broker.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { hasVolumeRunner } from "../../../crds/backend-class/mounts-volumes.ts";
import { LABELS } from "../../../crds/labels.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { isAtBroker } from "../../../crds/service-instance/managed-fields.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable, type CFError } from "../../http/errors.ts";
import { askedBy } from "./asked-by.ts";
import { offeringOf, planOf } from "./catalog.ts";
import { keepParameters, requireBoundedParameters, withParameters, type Parameters } from "./parameters-secret.ts";

const IN_PROGRESS = "There is an operation in progress for the service instance.";

/** May it be bound now? One of people always may. Apps would have no volume where no runner mounts any. @throws CFError 422 */
export function requireBindable(
  { cache }: Pick<Session, "cache">,
  instance: ServiceInstance,
  type: ServiceBinding["spec"]["type"],
): void {
  if (instance.spec.type !== "managed") return;
  requireAllowed(cache, instance, type);
  const last = instance.status?.lastOperation;
  if (last?.type === "create" && last.state === "failed")
    throw unprocessable(
      `The service instance '${displayNameOf(instance)}' was not created. Delete it, and create it again.`,
    );
  requireIdle(instance);
}

/** By the catalog. */
function requireAllowed(cache: ClusterCache, instance: ServiceInstance, type: ServiceBinding["spec"]["type"]): void {
  const plan = planOf(cache, instance);
  const offering = plan && offeringOf(cache, plan);
  if (!(plan?.spec.bindable ?? offering?.spec.bindable)) throw unprocessable("Service plan does not allow bindings.");
  const wantsVolume = type === "app" && offering?.spec.requires.includes("volume_mount");
  if (wantsVolume && !hasVolumeRunner(cache.store(BackendClass).list()))
    throw unprocessable("Support for volume mount services is disabled");
}

/** @throws CFError 422 while the broker changes the instance */
function requireIdle({ status = {}, metadata }: ServiceInstance): void {
  const { lastOperation: last } = status;
  const isMade = last && !(last.type === "create" && last.state === "initial");
  if (metadata.deletionTimestamp || !isMade || isAtBroker(status)) throw unprocessable(IN_PROGRESS);
}

/** Has the broker refused to make it? */
export function isBindingFailed({ status }: ServiceBinding): boolean {
  return status?.lastOperation?.type === "create" && status.lastOperation.state === "failed";
}

/** Makes a binding, whose GUID is in its draft's labels, with its parameters. One that failed before and has its name goes first. */
export async function createManagedBinding(
  session: Session,
  draft: Draft & { metadata: { name: string; namespace: string }; spec: object },
  { parameters, taken }: { parameters: Parameters | null | undefined; taken: () => CFError },
): Promise<ServiceBinding> {
  requireBoundedParameters(parameters);
  const { namespace, name, labels = {} } = draft.metadata;
  await removeFailed(session, { namespace, name });
  const kept = await keepParameters(
    session,
    { namespace, stem: name, labels: { [LABELS.serviceBinding]: labels[LABELS.guid] ?? "" } },
    parameters,
  );
  const spec = { ...draft.spec, ...(kept && { parametersSecretRef: { name: kept.name } }) };
  const metadata = { ...draft.metadata, annotations: { ...draft.metadata.annotations, ...askedBy(session) } };
  return withParameters(kept, ServiceBinding, () =>
    session.create(ServiceBinding, { ...draft, metadata, spec }, taken),
  );
}

/** Once it has failed, a binding is only in the way. @throws CFError 422 while it is still being taken back */
async function removeFailed(session: Session, key: { namespace: string; name: string }): Promise<void> {
  const find = (): ServiceBinding | undefined => session.cache.store(ServiceBinding).find(key);
  const found = find();
  if (!found || !isBindingFailed(found)) return;
  await session.delete(ServiceBinding, found);
  await session.holdWhile([ServiceBinding], () => find() !== undefined);
  if (find()) throw unprocessable("The binding is getting deleted or its deletion failed.");
}
