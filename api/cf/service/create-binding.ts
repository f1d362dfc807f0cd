// Binds an instance to an app. The object's name says which two, so that of two requests at once one binds.
import { App } from "../../../crds/app/app.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { displayNameOf, generatedName } from "../../../crds/object-names.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { appOwnerReferences } from "../app/owner-app.ts";
import { toNewMetadata, type MetadataInput } from "../metadata/metadata.ts";
import { bindingsOfApp, instanceOf } from "./bindings.ts";

const BOUND = "The app is already bound to the service instance.";

/** @throws CFError 422 when they are in different spaces, are bound already, or another binding of the app has the name */
export async function createBinding(
  session: Session,
  { app, instance }: { app: App; instance: ServiceInstance },
  { name, metadata }: { name?: string | null | undefined; metadata?: MetadataInput | undefined },
): Promise<ServiceBinding> {
  const { namespace } = app.metadata;
  if (namespace !== instance.metadata.namespace)
    throw unprocessable("The service instance and the app are in different spaces.");
  requireFree(session, app, instance, name ?? undefined);
  const { labels, annotations } = toNewMetadata(metadata);
  const draft = {
    metadata: {
      name: generatedName(
        `${app.metadata.name}-${instance.metadata.name}`,
        `${app.metadata.uid}/${instance.metadata.uid}`,
      ),
      namespace,
      labels: { ...labels, [LABELS.guid]: newGUID(), [LABELS.app]: session.cache.guid(App, app) },
      annotations,
      ownerReferences: appOwnerReferences(app),
    },
    spec: {
      ...(name && { name }),
      appRef: { name: app.metadata.name },
      instanceRef: { name: instance.metadata.name },
    },
  };
  return session.create(ServiceBinding, draft, () => unprocessable(BOUND));
}

function requireFree(session: Session, app: App, instance: ServiceInstance, name: string | undefined): void {
  const { cache } = session;
  const bindings = bindingsOfApp(cache, app);
  if (bindings.some(({ spec }) => spec.instanceRef.name === instance.metadata.name)) throw unprocessable(BOUND);
  const names = bindings.map((one) => one.spec.name ?? displayOfInstance(instanceOf(cache, one)));
  if (name !== undefined && names.includes(name))
    throw unprocessable(
      `The binding name is invalid. App binding names must be unique. The app already has a binding with name '${name}'.`,
    );
}

function displayOfInstance(instance: ServiceInstance | undefined): string | undefined {
  return instance && displayNameOf(instance);
}
