// The service instances that a manifest binds to an app. As in CF, none is unbound.
import type { z } from "zod";
import type { App } from "../../crds/app/app.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { LastOperation } from "../../crds/service-instance/managed-fields.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Session } from "../access/session.ts";
import { bindingsOfApp, instanceOf } from "../cf/service/bindings.ts";
import { isBindingFailed } from "../cf/service/managed-binding.ts";
import { createBinding } from "../cf/service/create-binding.ts";
import { listSharedWith } from "../cf/service/sharing.ts";
import { unprocessable } from "../http/errors.ts";
import type { serviceEntry } from "./schema.ts";

/** @throws CFError 422 for an instance that is not there, or that does not take parameters */
export async function applyServices(
  session: Session,
  app: App,
  entries: readonly z.output<typeof serviceEntry>[],
): Promise<void> {
  for (const { name, parameters, ...entry } of entries) {
    const { namespace = "" } = app.metadata;
    const instance = findInstance(session, namespace, name);
    if (!instance) throw unprocessable(`Service instance '${name}' not found`);
    if (isBound(session, app, instance)) continue;
    const isManaged = instance.spec.type === "managed";
    if (!isManaged && parameters && Object.keys(parameters).length > 0)
      throw unprocessable(`Binding parameters are not supported for user-provided service instances: '${name}'`);
    session.authorize({ verb: "create", on: ServiceBinding, namespace });
    const binding = await createBinding(session, { app, instance }, { name: entry["binding-name"], parameters });
    if (isManaged) await waitUntilBound(session, name, binding);
  }
}

/** Finds an instance of the space, or one that another space shares with it. */
function findInstance(session: Session, namespace: string, name: string): ServiceInstance | undefined {
  const owners = listSharedWith(session.cache, namespace).flatMap(({ metadata }) => metadata.namespace ?? []);
  const namespaces = [...new Set([namespace, ...owners])];
  const isWanted = (one: ServiceInstance): boolean => displayNameOf(one) === name && isWithin(one, namespace);
  const found = session.list(ServiceInstance, { namespaces }, isWanted);
  return found.find(({ metadata }) => metadata.namespace === namespace) ?? found[0];
}

/** A push starts the app next, which is to find its credentials. Each hold is some seconds at most. */
const MOST_HOLDS = 5;

/** @throws CFError 422 when the broker refuses, or needs longer than a request may wait */
async function waitUntilBound(session: Session, name: string, binding: ServiceBinding): Promise<void> {
  const find = (): LastOperation | undefined =>
    session.cache.findByGUID(ServiceBinding, session.cache.guid(ServiceBinding, binding))?.status?.lastOperation;
  const isWaiting = (): boolean => ["initial", "in progress", undefined].includes(find()?.state);
  for (let holds = 0; holds < MOST_HOLDS && isWaiting(); holds++) await session.holdWhile([ServiceBinding], isWaiting);
  const last = find();
  if (last?.state === "succeeded") return;
  const why =
    last?.state === "failed" ? last.description : "the service broker is still at it; push again once it is done";
  throw unprocessable(`Binding of service instance '${name}' failed: ${why}`);
}

function isBound({ cache }: Session, app: App, { metadata: { namespace, name } }: ServiceInstance): boolean {
  return bindingsOfApp(cache, app).some(
    (one) => one.spec.instanceRef.name === name && instanceNamespaceOf(one) === namespace && !isBindingFailed(one),
  );
}

/** Names of the bound instances, sorted, as a generated manifest has them. */
export function listBoundNames({ cache }: Session, app: App): string[] {
  return bindingsOfApp(cache, app)
    .flatMap((binding) => instanceOf(cache, binding) ?? [])
    .map(displayNameOf)
    .toSorted();
}
