// Binds an instance to an app, or makes a key. The object's name says of what, so that of two requests at once one binds.
import { App } from "../../../crds/app/app.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { displayNameOf, generatedName } from "../../../crds/object-names.ts";
import { newestBound } from "../../../crds/service-binding/bound-service.ts";
import { isPredecessor } from "../../../crds/service-binding/rotation.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { isWithin, type ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { appOwnerReferences } from "../app/owner-app.ts";
import { metadataForCreate, type MetadataInput } from "../../http/metadata.ts";
import { requireKeyQuota } from "../quota/check.ts";
import { bindingsOfApp, instanceOf } from "./bindings.ts";
import { planOf } from "./catalog.ts";
import { createManagedBinding, isBindingFailed, requireBindable } from "./managed-binding.ts";
import type { Parameters } from "./parameters-secret.ts";
import { requireShareable } from "./sharing.ts";

const BOUND = "The app is already bound to the service instance.";

interface BindingInput {
  name?: string | null | undefined;
  metadata?: MetadataInput | undefined;
  /** For the broker of a managed instance. */
  parameters?: Parameters | null | undefined;
  /** `multiple`: also where the app is bound already. It has the newest credentials from its next start on. */
  strategy?: "single" | "multiple" | undefined;
}

/** Bindings of one app to one instance, which is room for a rotation and its clean-up. */
const MOST_BINDINGS = 5;

/** @throws CFError 422 when the instance is in another space and not shared with the app's, they are bound already, cannot be bound, or another binding of the app has the name */
export async function createBinding(
  session: Session,
  { app, instance }: { app: App; instance: ServiceInstance },
  { name, metadata, parameters, strategy }: BindingInput,
): Promise<ServiceBinding> {
  const { namespace = "" } = app.metadata;
  const isOneOfSeveral = strategy === "multiple";
  if (!isWithin(instance, namespace)) throw unprocessable("The service instance and the app are in different spaces.");
  if (namespace !== instance.metadata.namespace) requireShareable(session.cache, instance, namespace);
  requireFree(session, app, instance, { name: name ?? undefined, most: isOneOfSeveral ? MOST_BINDINGS : 1 });
  requireBindable(session, instance, "app");
  const { labels, annotations } = metadataForCreate(metadata);
  const guid = newGUID();
  const draft = {
    metadata: {
      name: generatedName(
        `${app.metadata.name}-${instance.metadata.name}`,
        [app.metadata.uid, instance.metadata.uid, ...(isOneOfSeveral ? [guid] : [])].join("/"),
      ),
      namespace,
      labels: { ...labels, [LABELS.guid]: guid, [LABELS.app]: session.cache.guid(App, app) },
      annotations,
      ownerReferences: appOwnerReferences(app),
    },
    spec: {
      ...(name && { name }),
      appRef: { name: app.metadata.name },
      instanceRef: toInstanceRef(instance, namespace),
      ...(isOneOfSeveral && toPredecessor(session, { app, instance }, parameters)),
    },
  };
  const taken = () => unprocessable(BOUND);
  return instance.spec.type === "managed"
    ? createManagedBinding(session, draft, { parameters, taken })
    : session.create(ServiceBinding, draft, taken);
}

/** The binding that the broker replaces, where it can. Parameters of one's own make a new one. */
function toPredecessor(
  { cache, now }: Session,
  { app, instance }: { app: App; instance: ServiceInstance },
  parameters: Parameters | null | undefined,
): { predecessorRef?: { name: string } } {
  if (parameters || !planOf(cache, instance)?.spec.bindingRotatable) return {};
  const { namespace = "", name: appName } = app.metadata;
  const successor = {
    type: "app",
    appRef: { name: appName },
    instanceRef: toInstanceRef(instance, namespace),
  } as const;
  const candidates = bindingsOfApp(cache, app).filter((one) => isPredecessor(one, successor, now()));
  const [newest] = newestBound(candidates.map((binding) => ({ binding, instance })));
  return newest ? { predecessorRef: { name: newest.binding.metadata.name } } : {};
}

/** Names the namespace only where it is another one. */
function toInstanceRef({ metadata }: ServiceInstance, namespace: string): { name: string; namespace?: string } {
  const { name, namespace: own = "" } = metadata;
  return own === namespace ? { name } : { name, namespace: own };
}

/** @throws CFError 422 when the name is taken, the instance cannot be bound, or the quota is used up */
export async function createKey(
  session: Session,
  instance: ServiceInstance,
  { name, metadata, parameters }: BindingInput & { name: string },
): Promise<ServiceBinding> {
  const { namespace = "" } = instance.metadata;
  requireBindable(session, instance, "key");
  requireKeyQuota(session, namespace);
  const { labels, annotations } = metadataForCreate(metadata);
  const draft = {
    metadata: {
      name: generatedName(`${instance.metadata.name}-key`, `${instance.metadata.uid}/key/${name}`),
      namespace,
      labels: { ...labels, [LABELS.guid]: newGUID() },
      annotations,
    },
    spec: { type: "key", name, instanceRef: { name: instance.metadata.name } },
  };
  return createManagedBinding(session, draft, {
    parameters,
    taken: () =>
      unprocessable(
        `The binding name is invalid. Key binding names must be unique. The service instance already has a key binding with name '${name}'.`,
      ),
  });
}

/** As in CF, bindings of an app to one instance may have one name. @throws CFError 422 */
function requireFree(
  { cache }: Session,
  app: App,
  instance: ServiceInstance,
  { name, most }: { name: string | undefined; most: number },
): void {
  const bindings = bindingsOfApp(cache, app).filter((one) => !isBindingFailed(one));
  const same = bindings.filter((one) => isOf(one, instance));
  if (most === 1 && same.length > 0) throw unprocessable(BOUND);
  if (same.length >= most)
    throw unprocessable(
      `The app has too many bindings to this service instance (limit: ${most}). Consider deleting existing/orphaned bindings.`,
    );
  const names = bindings
    .filter((one) => most === 1 || !isOf(one, instance))
    .map((one) => one.spec.name ?? displayOfInstance(instanceOf(cache, one)));
  if (name !== undefined && names.includes(name))
    throw unprocessable(
      `The binding name is invalid. App binding names must be unique. The app already has a binding with name '${name}'.`,
    );
}

/** Another space may share one of the same name. */
function isOf(binding: ServiceBinding, { metadata: { namespace, name } }: ServiceInstance): boolean {
  return binding.spec.instanceRef.name === name && instanceNamespaceOf(binding) === namespace;
}

function displayOfInstance(instance: ServiceInstance | undefined): string | undefined {
  return instance && displayNameOf(instance);
}
