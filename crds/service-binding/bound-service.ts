// An app's bindings as VCAP_SERVICES shows them. Pure.
import type { BoundService } from "../app/vcap.ts";
import { displayNameOf } from "../object-names.ts";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import type { BindingContent } from "./binding-secret.ts";
import { instanceNamespaceOf, type ServiceBinding } from "./service-binding.ts";

/** Of several bindings of one app to one instance the newest counts, as in CF; in the order of creation. */
export function newestBindings(bindings: readonly ServiceBinding[]): ServiceBinding[] {
  const byAge = bindings.toSorted((a, b) => compareAge(a, b));
  return [
    ...new Map(
      byAge.map((binding) => [`${instanceNamespaceOf(binding)}/${binding.spec.instanceRef.name}`, binding]),
    ).values(),
  ];
}

function compareAge(a: ServiceBinding, b: ServiceBinding): number {
  const [one, other] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`);
  return (one ?? "") < (other ?? "") ? -1 : 1;
}

/** Has the broker given its credentials? Those of a user-provided instance need no broker. */
export function isBound({ spec }: Pick<ServiceInstance, "spec">, { status }: Pick<ServiceBinding, "status">): boolean {
  const { type, state } = status?.lastOperation ?? {};
  return spec.type !== "managed" || (type === "create" && state === "succeeded");
}

/** With CF's keys in CF's order. */
export function toBoundService({
  instance,
  binding,
  content,
}: {
  instance: ServiceInstance & { guid: string };
  binding: ServiceBinding & { guid: string };
  content: BindingContent;
}): BoundService {
  const { credentials, syslogDrainURL, volumeMounts = [] } = content;
  const { tags, ...catalog } = toCatalogPart(instance);
  return {
    ...catalog,
    name: binding.spec.name ?? displayNameOf(instance),
    tags,
    instance_guid: instance.guid,
    instance_name: displayNameOf(instance),
    binding_guid: binding.guid,
    binding_name: binding.spec.name ?? null,
    credentials,
    syslog_drain_url: syslogDrainURL ?? null,
    volume_mounts: [...volumeMounts],
  };
}

/** What VCAP_SERVICES shows of the catalog. */
function toCatalogPart({ spec, status }: ServiceInstance) {
  if (spec.type !== "managed") return { label: "user-provided", tags: [...spec.tags] };
  const { offeringName = "managed", offeringTags = [], planName = null } = status?.provided ?? {};
  return { label: offeringName, provider: null, plan: planName, tags: [...new Set([...offeringTags, ...spec.tags])] };
}
