// An app's bindings as VCAP_SERVICES shows them. Pure.
import { createdTimeOf } from "../origin.ts";
import type { BoundService } from "../app/vcap.ts";
import { guidOf } from "../guid.ts";
import { displayNameOf } from "../object-names.ts";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import type { BindingContent } from "./binding-secret.ts";
import { instanceNamespaceOf, type ServiceBinding } from "./service-binding.ts";

interface BoundPair {
  binding: ServiceBinding;
  instance: ServiceInstance;
}

/** The newest binding of an app to an instance that has its credentials counts, as in CF. The result is in the order of creation. */
export function newestBound<T extends BoundPair>(pairs: readonly T[]): T[] {
  const bound = pairs.filter(({ instance, binding }) => isBound(instance, binding)).toSorted(byAge);
  return [...new Map(bound.map((pair) => [instanceKeyOf(pair.binding), pair])).values()];
}

function instanceKeyOf(binding: ServiceBinding): string {
  return `${instanceNamespaceOf(binding)}/${binding.spec.instanceRef.name}`;
}

/** Those of one second by their GUID. */
function byAge({ binding: a }: BoundPair, { binding: b }: BoundPair): number {
  const [one, other] = [a, b].map((each) => `${createdTimeOf(each) ?? ""} ${guidOf(each)}`);
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
    volume_mounts: volumeMounts.map(toShownMount),
  };
}

const SHOWN_OF_MOUNT = ["container_dir", "mode", "device_type"] as const;

/** How a volume is reached may have secrets. */
function toShownMount(mount: unknown): object {
  const members = { ...(mount as Record<string, unknown> | null) };
  return Object.fromEntries(SHOWN_OF_MOUNT.flatMap((name) => (name in members ? [[name, members[name]]] : [])));
}

/** Members of the catalog that VCAP_SERVICES shows. */
function toCatalogPart({ spec, status }: ServiceInstance) {
  if (spec.type !== "managed") return { label: "user-provided", tags: [...spec.tags] };
  const { offeringName = "managed", offeringTags = [], planName = null } = status?.provided ?? {};
  return { label: offeringName, provider: null, plan: planName, tags: [...new Set([...offeringTags, ...spec.tags])] };
}
