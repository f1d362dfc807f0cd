// The service bindings of an app or an instance, as the cache knows them.
import type { App } from "../../../crds/app/app.ts";
import { filesVariable, servicesDelivery } from "../../../crds/app/features.ts";
import { systemEnv, type BoundService } from "../../../crds/app/vcap.ts";
import { newestBound, toBoundService } from "../../../crds/service-binding/bound-service.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { isAtBroker } from "../../../crds/service-instance/managed-fields.ts";
import { isWithin, ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache, ObjectFinder } from "../../cache/cluster-cache.ts";
import { appKey } from "../app/owner-app.ts";
import { findBindingContent } from "./binding-content.ts";

/** Those that are not being deleted. */
export function bindingsOfApp(cache: ClusterCache, app: App): ServiceBinding[] {
  return cache
    .store(ServiceBinding)
    .byIndex("app", appKey(app))
    .filter(({ metadata }) => !metadata.deletionTimestamp);
}

export function bindingsOfInstance(cache: ClusterCache, { metadata }: ServiceInstance): ServiceBinding[] {
  return [...cache.store(ServiceBinding).byIndex("instance", `${metadata.namespace}/${metadata.name}`)];
}

/** The bound instance; undefined when the reference dangles. */
export function instanceOf(cache: ObjectFinder, binding: ServiceBinding): ServiceInstance | undefined {
  return cache
    .store(ServiceInstance)
    .find({ namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name });
}

/** Must a broker be asked to delete the binding? So must one whose instance is gone, once its broker was asked to make it. */
export function isOfBroker(cache: ObjectFinder, binding: ServiceBinding): boolean {
  return instanceOf(cache, binding)?.spec.type === "managed" || binding.status?.lastOperation !== undefined;
}

/** The broker was asked to make the binding, and its answer is not known. One that the broker still makes can be deleted, as in CF. */
export function isBeingAsked({ status = {} }: ServiceBinding): boolean {
  const { type, state } = status.lastOperation ?? {};
  return type === "create" && state === "initial" && isAtBroker(status);
}

/** VCAP_SERVICES, or where it is a file, as the app's next start would have it. The caller must have been authorized to read the app's environment. */
export async function readSystemEnv(session: Session, app: App): Promise<object> {
  const delivery = servicesDelivery(app);
  if (delivery !== "environment") {
    const { name, value } = filesVariable(delivery);
    return { [name]: value };
  }
  const services = await readBoundServices(session, app);
  return { VCAP_SERVICES: JSON.parse(systemEnv(services).VCAP_SERVICES) as object };
}

/** The app's services with their credentials, as its next start would have them. The result is not for callers who may not read the app's environment. */
export async function readBoundServices(session: Session, app: App): Promise<BoundService[]> {
  const { cache } = session;
  const pairs = bindingsOfApp(cache, app).flatMap((binding) => {
    const instance = instanceOf(cache, binding);
    return instance && isWithin(instance, binding.metadata.namespace) ? [{ binding, instance }] : [];
  });
  return Promise.all(
    newestBound(pairs).map(async ({ binding, instance }) => {
      const content = await findBindingContent(session, binding, instance);
      const toGUID = { guid: cache.guid(ServiceInstance, instance) };
      const bound = { ...binding, guid: cache.guid(ServiceBinding, binding) };
      return toBoundService({ instance: { ...instance, ...toGUID }, binding: bound, content });
    }),
  );
}
