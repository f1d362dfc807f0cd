// The service instances that a manifest binds to an app. As in CF, none is unbound.
import type { z } from "zod";
import type { App } from "../../crds/app/app.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Session } from "../access/session.ts";
import { bindingsOfApp, instanceOf } from "../cf/service/bindings.ts";
import { createBinding } from "../cf/service/create-binding.ts";
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
    const [instance] = session.list(ServiceInstance, { namespaces: [namespace] }, (one) => displayNameOf(one) === name);
    if (!instance) throw unprocessable(`Service instance '${name}' not found`);
    if (isBound(session, app, instance)) continue;
    if (parameters && Object.keys(parameters).length > 0)
      throw unprocessable(`Binding parameters are not supported for user-provided service instances: '${name}'`);
    session.authorize({ verb: "create", on: ServiceBinding, namespace });
    await createBinding(session, { app, instance }, { name: entry["binding-name"] });
  }
}

function isBound({ cache }: Session, app: App, { metadata }: ServiceInstance): boolean {
  return bindingsOfApp(cache, app).some(({ spec }) => spec.instanceRef.name === metadata.name);
}

/** Names of the bound instances, sorted, as a generated manifest has them. */
export function listBoundNames({ cache }: Session, app: App): string[] {
  return bindingsOfApp(cache, app)
    .flatMap((binding) => instanceOf(cache, binding) ?? [])
    .map(displayNameOf)
    .toSorted();
}
