// An app's bindings as VCAP_SERVICES shows them. Pure.
import type { BoundService } from "../app/vcap.ts";
import { displayNameOf } from "../object-names.ts";
import type { Credentials } from "../service-instance/credentials.ts";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
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

/** With CF's keys in CF's order. */
export function toBoundService({
  instance,
  binding,
  credentials,
}: {
  instance: ServiceInstance & { guid: string };
  binding: ServiceBinding & { guid: string };
  credentials: Credentials;
}): BoundService {
  const { syslogDrainURL = null, tags } = instance.spec;
  return {
    label: "user-provided",
    name: binding.spec.name ?? displayNameOf(instance),
    tags: [...tags],
    instance_guid: instance.guid,
    instance_name: displayNameOf(instance),
    binding_guid: binding.guid,
    binding_name: binding.spec.name ?? null,
    credentials,
    syslog_drain_url: syslogDrainURL,
    volume_mounts: [],
  };
}
