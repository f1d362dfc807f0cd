// Parameters of a service binding, whatever it binds: read back where the offering says that they can be.
import { LABELS } from "../../../crds/labels.ts";
import { isBound } from "../../../crds/service-binding/bound-service.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { Session } from "../../access/session.ts";
import { CFError, notFound } from "../../http/errors.ts";
import { instanceOf } from "./bindings.ts";
import { offeringOf, planOf } from "./catalog.ts";
import { readParameters } from "./read-parameters.ts";

/** The caller must have been authorized. @throws CFError ServiceFetchBindingParametersNotSupported, or 404 for `noun` while the binding is not made */
export async function readBindingParameters(session: Session, binding: ServiceBinding, noun: string): Promise<object> {
  const { cache } = session;
  const instance = instanceOf(cache, binding);
  const plan = instance && planOf(cache, instance);
  const offering = plan && offeringOf(cache, plan);
  if (!instance || !offering?.spec.bindingsRetrievable) throw new CFError("ServiceFetchBindingParametersNotSupported");
  if (!isBound(instance, binding)) throw notFound(noun);
  return readParameters(session, binding, {
    secret: binding.spec.parametersSecretRef?.name,
    owner: { label: LABELS.serviceBinding, guid: cache.guid(ServiceBinding, binding) },
  });
}
